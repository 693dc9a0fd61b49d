// The systemd unit of a user service (systemd.service(5), systemd.exec(5)).
import { refuseControlCharacters, type ServiceDefinition } from './definition.ts'

/**
 * What of systemd's hardening works in units of a user, whose manager has no privileges: PrivateUsers= gives it the mounts.
 * Settings that take capabilities away (PrivateDevices=, ProtectClock=, ProtectKernel*=) end such a unit with 218/CAPABILITIES, and
 * MemoryDenyWriteExecute= ends V8. AF_NETLINK is what the addresses of this machine are asked by.
 */
const restrictions = [
  'NoNewPrivileges=yes',
  'LockPersonality=yes',
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native'
]

/** @throws Error for what no unit can hold */
export function toSystemdUnit({ description, command, environment, writable, isConfined }: ServiceDefinition): string {
  refuseControlCharacters(description, ...command, ...Object.values(environment), ...writable)
  const [program, ...args] = command
  if (/["'\\]/.test(program))
    throw new Error(`systemd starts no program with quotes or backslashes in its path: ${program}`)
  const lines = [
    '[Unit]',
    `Description=${specifiers(description)}`,
    'StartLimitIntervalSec=60',
    'StartLimitBurst=5',
    '',
    '[Service]',
    'Type=exec',
    // The colon: dollar signs are meant as they stand.
    `ExecStart=${[`:${program}`, ...args].map(quote).join(' ')}`,
    ...Object.entries(environment).map(([name, value]) => `Environment=${quote(`${name}=${value}`)}`),
    'Restart=on-failure',
    'RestartSec=2',
    'TimeoutStopSec=10',
    '',
    ...restrictions,
    ...(isConfined ? confinement(writable) : []),
    '',
    '[Install]',
    'WantedBy=default.target'
  ]
  return `${lines.join('\n')}\n`
}

/** The file system is read-only, but for the roots and the folders of ours. */
function confinement(writable: readonly string[]): string[] {
  const isInTemporary = writable.some((folder) => /^\/(?:var\/)?tmp(?:\/|$)/.test(folder))
  return [
    'PrivateUsers=yes',
    // A root below /tmp would not be there any more.
    ...(isInTemporary ? [] : ['PrivateTmp=yes']),
    'ProtectSystem=strict',
    'ProtectHome=read-only',
    // The hyphen: a root that is gone is told by the server, not by a unit that cannot be started.
    ...writable.map((folder) => `ReadWritePaths=${quote(`-${folder}`)}`)
  ]
}

function quote(word: string): string {
  return `"${specifiers(word).replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

function specifiers(text: string): string {
  return text.replaceAll('%', '%%')
}
