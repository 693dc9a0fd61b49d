// The systemd unit of a user service (systemd.service(5), systemd.exec(5)).
import { refuseControlCharacters, type ServiceDefinition } from './definition.ts'

/**
 * The part of systemd's hardening that works in units of a user, whose manager has no privileges: PrivateUsers= gives it the mounts.
 * Settings that remove capabilities (PrivateDevices=, ProtectClock=, ProtectKernel*=) end such a unit with 218/CAPABILITIES, and
 * MemoryDenyWriteExecute= ends V8. The program asks for the addresses of this machine over AF_NETLINK.
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

/** @throws Error for what a unit cannot contain */
export function toSystemdUnit({ description, command, environment, writable, isConfined }: ServiceDefinition): string {
  refuseControlCharacters(description, ...command, ...Object.values(environment), ...writable)
  const [program, ...args] = command
  if (/["'\\]/.test(program))
    throw new Error(`systemd does not start a program with quotes or backslashes in its path: ${program}`)
  const lines = [
    '[Unit]',
    `Description=${specifiers(description)}`,
    'StartLimitIntervalSec=60',
    'StartLimitBurst=5',
    '',
    '[Service]',
    'Type=exec',
    // The colon keeps dollar signs literal.
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

/** The file system is read-only, except for the roots and our folders. */
function confinement(writable: readonly string[]): string[] {
  const isInTemporary = writable.some((folder) => /^\/(?:var\/)?tmp(?:\/|$)/.test(folder))
  return [
    'PrivateUsers=yes',
    // With it, a root below /tmp would be hidden.
    ...(isInTemporary ? [] : ['PrivateTmp=yes']),
    'ProtectSystem=strict',
    'ProtectHome=read-only',
    // The hyphen: the server reports a root that is gone; the unit must start anyway.
    ...writable.map((folder) => `ReadWritePaths=${quote(`-${folder}`)}`)
  ]
}

function quote(word: string): string {
  return `"${specifiers(word).replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

function specifiers(text: string): string {
  return text.replaceAll('%', '%%')
}
