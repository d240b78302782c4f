import { execFile, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { checkFetched } from './check-answers.ts'
import { afterFile } from './cleanups.ts'

/** The compiled program, which the global set-up builds. */
const ownEntry = join(import.meta.dirname, '../../dist/main.js')

/** A working directory without a developer's `.env`. */
const directoryWithoutEnv = dirname(ownEntry)

export interface ProcessOptions {
  /** The working directory; by default a directory without `.env`. */
  cwd?: string
  /** The compiled program; by default the program of this checkout. */
  entry?: string
  /** Further arguments of `serve`. */
  args?: string[]
  /** The JavaScript text of a module to load first. */
  preload?: string
  /** A Bash command that runs the program. In the command, the program is `"$@"`. */
  shell?: string
}

/** Options that make standard output look like a terminal for the program. `.ci/newcomer` uses a real terminal. */
export const onTerminal: ProcessOptions = { preload: 'process.stdout.isTTY = true' }

/** Returns a module that moves the clock of a process. @param milliseconds negative: back */
export const clockBy = (milliseconds: number) => `
  const { now } = Date
  globalThis.Date = class extends Date {
    constructor(...values) { values.length === 0 ? super(now() + ${milliseconds}) : super(...values) }
    static now() { return now() + ${milliseconds} }
  }`

function commandOf({ preload, shell, entry = ownEntry }: ProcessOptions, args: string[]): [string, ...string[]] {
  const flags = preload === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
  const words = [process.execPath, ...flags, entry, ...args] as const
  return shell === undefined ? [...words] : ['bash', '--norc', '-c', shell, 'bash', ...words]
}

/** Returns the options of `spawn`. Of the environment of the tests, the process gets only PATH and HOME. */
const settingsOf = (options: ProcessOptions, environment: NodeJS.ProcessEnv) => ({
  cwd: options.cwd ?? directoryWithoutEnv,
  env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
})

/** The exit code and the output of a finished command. */
export interface Outcome {
  code: number
  stdout: string
  stderr: string
}

/**
 * Runs a command and waits for its end.
 *
 * @param options.input the standard input @param options.timeout the time after which the command is killed, in
 * milliseconds
 */
export function run(
  args: string[],
  environment: NodeJS.ProcessEnv,
  options: ProcessOptions & { input?: string; timeout?: number } = {},
): Promise<Outcome> {
  return new Promise(resolve => {
    const settings = { ...settingsOf(options, environment), timeout: options.timeout ?? 60_000 }
    const [file, ...words] = commandOf(options, args)
    const child = execFile(file, words, settings, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr })
    })
    child.stdin?.end(options.input)
  })
}

/**
 * Returns the error message of a command that failed and printed nothing else. `serve` may also have logged the
 * reasons.
 */
export function refusalOf({ code, stdout, stderr }: Outcome): string {
  expect([code, stdout], stderr).toEqual([1, expect.stringMatching(/^(\{"level":60,.*\}\n)?$/)])
  return stderr
}

/** Starts a command, and kills it after the tests of the file. */
export function start(args: string[], environment: NodeJS.ProcessEnv, options: ProcessOptions = {}) {
  const [file, ...words] = commandOf(options, args)
  const child = spawn(file, words, settingsOf(options, environment))
  afterFile(() => child.kill('SIGKILL'))
  let printed = ''
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed += chunk
      if (stream === child.stdout) log += chunk
    })
  }
  // The event is `close`, because the last output may arrive after `exit`.
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  return {
    child,
    printed: () => printed,
    /** Returns the standard output so far. */
    log: () => log,
    /** Resolves with the exit code, or with null when a signal has killed the process. */
    ended,
  }
}

/** The service in a separate process. */
export type Service = Awaited<ReturnType<typeof serve>>

/** Starts `serve` and waits until it listens. */
export async function serve(environment: NodeJS.ProcessEnv, options: ProcessOptions = {}) {
  const words = ['serve', ...(options.args ?? [])]
  const { child, printed, log, ended } = start(words, { PORT: '0', ...environment }, options)
  const restAddress = await new Promise<string>((resolve, reject) => {
    const read = () => {
      const found = /^ *REST +(\S+)\n[\s\S]*Ctrl-C stops it/m.exec(printed())?.[1]
      if (found) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void ended.then(code => reject(new Error(`serve ended with ${code}:\n${printed()}`)))
  })
  // Another version of the program has a different OpenAPI document.
  if (options.entry === undefined) checkFetched()
  return {
    child,
    printed,
    log,
    /** The address of REST v1, as printed. */
    restAddress,
    origin: new URL(restAddress).origin,
    list: (secret: string) =>
      fetch(`${restAddress}/tenants`, { headers: { accept: 'application/json', authorization: `Bearer ${secret}` } }),
    async ready() {
      const answer = await fetch(new URL('/readyz', restAddress))
      return { status: answer.status, body: await answer.text() }
    },
    /**
     * Sends a signal, and waits for the end of the process. @returns the exit code, or null when the signal killed the
     * process
     */
    stop(signal: NodeJS.Signals) {
      child.kill(signal)
      return ended
    },
  }
}
