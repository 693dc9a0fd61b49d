// The task of a user service in the Windows Task Scheduler (schema of https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema).
import type { ServiceDefinition } from './definition.ts'
import { escapeXml } from './xml.ts'

/** @param user such as `MACHINE\ann`; the task starts at this user's login, with no more rights than the user has then */
export function toScheduledTask({ description, command, environment }: ServiceDefinition, user: string): string {
  const [program, ...args] = command
  if (Object.keys(environment).length > 0) throw new Error('a Windows task has no environment of its own')
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>${escapeXml(description)}</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>${escapeXml(user)}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${escapeXml(user)}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>true</Enabled>
    <Hidden>false</Hidden>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>5</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${escapeXml(program)}</Command>
      <Arguments>${escapeXml(args.map(quote).join(' '))}</Arguments>
    </Exec>
  </Actions>
</Task>
`
}

/** As CommandLineToArgvW parses it: backslashes count only before a quotation mark. */
function quote(word: string): string {
  if (/^[^\s"]+$/.test(word)) return word
  return `"${word.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, '$1$1')}"`
}
