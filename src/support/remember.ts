/** A value that is made when it is first asked for, and the same from then on. */
export function remember<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined
  return () => (value ??= make())
}
