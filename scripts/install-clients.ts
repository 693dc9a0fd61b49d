// npm run clients: installs the real clients of the tests and of a benchmark from npm, outside of the project, and prints where they are.
import { join } from 'node:path'
import { clientPackages, clientsFolder, findProgram, realClients } from '../test/fixtures/real-clients.ts'
import { installPackages } from './install-packages.ts'

const folder = clientsFolder()
await installPackages(folder, clientPackages)
if (!realClients.every(({ command }) => findProgram(command) !== undefined))
  throw new Error(`${folder} does not have all programs of ${clientPackages.join(', ')}: remove it, then try again`)
console.log(join(folder, 'node_modules', '.bin'))
