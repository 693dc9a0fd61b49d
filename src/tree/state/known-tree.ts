// Which processes serve the same tree.

/** Whether one process has the tree at a path by which the other knows it. Further roots have the same paths for both. */
export function isKnownTree(
  [tree = '', ...roots]: readonly string[],
  [other = '', ...others]: readonly string[],
  knownAs: readonly string[],
  otherKnownAs: readonly string[] = []
): boolean {
  const isSame = tree === other || knownAs.includes(other) || otherKnownAs.includes(tree)
  return isSame && roots.join('\0') === others.join('\0')
}
