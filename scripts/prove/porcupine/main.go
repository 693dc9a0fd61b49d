// Reads histories that `npm run prove` has written, and says of each whether Porcupine finds it linearizable.
// usage: go run . <file.edn> ...    exits with 1 if one is not
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// One operation: `f` is "read", "write" or "cas", `value` as it is written in the file.
type input struct{ f, value string }

var line = regexp.MustCompile(`^\{:process (\d+), :type :(invoke|ok), :f :(read|write|cas), :value (.+), :time -?\d+\}$`)

// A register that is compared and set. What an operation has read is known with its answer.
var register = porcupine.Model{
	Init: func() interface{} { return "" },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		switch operation := in.(input); operation.f {
		case "read":
			return out.(string) == state.(string), state
		case "write":
			return true, operation.value
		default:
			values := strings.Fields(strings.Trim(operation.value, "[]"))
			return values[0] == state.(string), values[1]
		}
	},
}

func read(path string) []porcupine.Event {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	var events []porcupine.Event
	open := map[int]int{}
	scanner := bufio.NewScanner(file)
	for id := 0; scanner.Scan(); {
		parts := line.FindStringSubmatch(scanner.Text())
		if parts == nil {
			panic(fmt.Sprintf("%s: not understood: %s", path, scanner.Text()))
		}
		process, _ := strconv.Atoi(parts[1])
		if parts[2] == "invoke" {
			open[process] = id
			events = append(events, porcupine.Event{ClientId: process, Kind: porcupine.CallEvent, Value: input{parts[3], parts[4]}, Id: id})
			id++
		} else {
			events = append(events, porcupine.Event{ClientId: process, Kind: porcupine.ReturnEvent, Value: parts[4], Id: open[process]})
		}
	}
	return events
}

func main() {
	isSound := len(os.Args) > 1
	for _, path := range os.Args[1:] {
		events := read(path)
		isLinearizable := porcupine.CheckEvents(register, events)
		fmt.Printf("%s: %d operations, linearizable: %v\n", path, len(events)/2, isLinearizable)
		isSound = isSound && isLinearizable
	}
	if !isSound {
		os.Exit(1)
	}
}
