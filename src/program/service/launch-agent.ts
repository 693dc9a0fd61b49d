// The launchd agent of a user service on macOS (launchd.plist(5)).
import type { ServiceDefinition } from './definition.ts'
import { escapeXml } from './xml.ts'

/** Restarted after a failure, not after a stop. */
export function toLaunchAgent({ name, command, environment, outputFile }: ServiceDefinition): string {
  const text = (value: string) => `<string>${escapeXml(value)}</string>`
  const variables = Object.entries(environment).map(
    ([name, value]) => `    <key>${escapeXml(name)}</key>\n    ${text(value)}`
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(name)}
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    ${text(word)}`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>${variables.map((line) => `\n${line}`).join('')}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>10</integer>
  <key>StandardOutPath</key>
  <string>/dev/null</string>
  <key>StandardErrorPath</key>
  ${text(outputFile)}
</dict>
</plist>
`
}
