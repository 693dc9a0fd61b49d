// Names that Git takes into no index, since they are that of its own folder or settings on some system. It passes over them in silence.

/** On Windows also with blanks and dots at the end, with a stream, and by a short name. */
const ofFolder = /^(?:\.git|git~1)[. ]*(?::|$)/i
const ofModules = /^(?:\.gitmodules|gitmod~[1-4])[. ]*(?::|$)/i

/** By Git's own settings of that (core.protectNTFS), as a landing has them whatever the repository says. */
export function isRefusedName(name: string, isLink: boolean): boolean {
  return name.split(/[/\\]/).some((part) => ofFolder.test(part) || (isLink && ofModules.test(part)))
}
