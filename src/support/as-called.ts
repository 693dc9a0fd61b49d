// The commands that messages name, as the user called this program.

/** A clone installs no command of this name: `npm start --` calls the program there. */
export function asCalled(text: string): string {
  if (process.env['npm_lifecycle_event'] !== 'start') return text
  return text.replaceAll(commands, 'npm start -- ')
}

const commands = /\basync-crud-mcp (?=(?:bootstrap|config|daemon|doctor|quick-install|setup|uninstall)\b|--dir )/g
