// Runs the samples of the guides as a reader would, each in a separate process and directory.

import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { sampleLanguages } from '../../docs/render/samples.ts'
import { originPlaceholder } from '../../src/docs/guides.ts'
import { createDirectory } from '../support/directory.ts'

const root = join(import.meta.dirname, '../..')

/** The folder of the samples. Each sample has a file per language. */
export const samplesFolder = join(root, 'docs/samples')

export type Extension = (typeof sampleLanguages)[number]['extension']

/** The programs that the samples need, with the Debian package of each program. */
const programs = { curl: 'curl', jq: 'jq', php: 'php-cli', python3: 'python3' }

for (const [program, debianPackage] of Object.entries(programs)) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
  } catch {
    throw new Error(`The samples need ${program}. Install it: apt-get install ${debianPackage}`)
  }
}

const samplesCopy = createDirectory()

const guide = readFileSync(join(root, 'docs/guides/quick-start.md'), 'utf8')

function readCommandsUnder(heading: string): string[] {
  const [, section = ''] = new RegExp(`^## ${heading}\n(.*?)^## `, 'ms').exec(guide) ?? []
  return [...section.matchAll(/```bash\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'))
}

const isRunLine = (line: string) => line.includes('first-call.mts')
const nodeVersion = Number.parseInt(process.versions.node, 10)
const runLine = readCommandsUnder('Install the client').find(
  line => isRunLine(line) && line.startsWith(nodeVersion >= 24 ? 'node ' : 'npx tsx '),
)

// npx asks at a terminal whether it may install tsx. The setting `yes` answers instead of a reader.
const quietNpm = { npm_config_loglevel: 'error', npm_config_update_notifier: 'false', npm_config_yes: 'true' }
const npmSettings = { ...process.env, ...quietNpm }

/**
 * Installs the client next to a copy of the samples, with the commands of the guide, and checks the types of the
 * samples.
 *
 * @param origin the service from which the client is downloaded
 */
export async function installClient(origin: string): Promise<void> {
  cpSync(samplesFolder, samplesCopy, { recursive: true })
  for (const line of readCommandsUnder('Install the client').filter(line => !isRunLine(line))) {
    await runInPlace('bash', '-c', line.replace(originPlaceholder, origin))
  }
  // tsx is installed before the samples run, because concurrent runs would each install it.
  if (runLine?.startsWith('npx')) await runInPlace('bash', '-c', 'npx tsx --version')
  // Links the packages that the samples of redemptions need, in the versions of the lock file, because npm would
  // install and build them again.
  for (const name of ['jose', 'postgres'])
    symlinkSync(join(root, 'node_modules', name), join(samplesCopy, 'node_modules', name))
  const typeRoots = [join(root, 'node_modules/@types')]
  const options = { strict: true, target: 'es2022', module: 'nodenext', types: ['node'], skipLibCheck: true, typeRoots }
  writeFileSync(join(samplesCopy, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, noEmit: true } }))
  await runInPlace(join(root, 'node_modules/.bin/tsc'), '-p', samplesCopy)
}

const runInPlace = (program: string, ...args: string[]) =>
  promisify(execFile)(program, args, { cwd: samplesCopy, env: npmSettings })

const commands: Record<Extension, (file: string) => [program: string, ...args: string[]]> = {
  sh: file => ['bash', `${file}.sh`],
  mts: file => ['bash', '-c', `${runLine?.replace('first-call.mts', `${file}.mts`)} "$@"`, 'bash'],
  py: file => ['python3', `${file}.py`],
  php: file => ['php', '-d', 'display_errors=stderr', `${file}.php`],
}

export interface SampleRun {
  lines: string[]
  directory: string
}

export interface SampleOptions {
  args?: string[]
  /** The working directory of the sample; default: a new directory. */
  directory?: string
}

export const newDirectory = (): string => mkdtempSync(join(samplesCopy, 'run-'))

/**
 * Runs a sample.
 *
 * @param name the folder and the name of the sample, such as `paging/all-pages`
 * @throws Error when the sample fails, or writes to its standard error
 */
export function runSample(
  name: string,
  extension: Extension,
  environment: { VOUCHER_GATEWAY_URL: string; VOUCHER_GATEWAY_TOKEN: string },
  { args = [], directory = newDirectory() }: SampleOptions = {},
): Promise<SampleRun> {
  const [program, ...rest] = commands[extension](join(samplesCopy, name))
  const options = { cwd: directory, env: { ...npmSettings, ...environment }, timeout: 100_000 }
  return new Promise((resolve, reject) => {
    execFile(program, [...rest, ...args], options, (error, stdout, stderr) => {
      if (error || stderr) reject(new Error(`${name}.${extension}: ${error?.message ?? ''}\n${stdout}\n${stderr}`))
      else resolve({ lines: stdout.split('\n').filter(line => line !== ''), directory })
    })
  })
}

export const sampleFiles = (): string[] =>
  readdirSync(samplesFolder, { recursive: true, encoding: 'utf8' }).filter(name => /\.\w+$/.test(name))
