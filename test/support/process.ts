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
  /** The working directory; default: a directory without `.env`. */
  cwd?: string
  /** The compiled program; default: the one of this checkout. */
  entry?: string
  /** Further arguments of `serve`. */
  args?: string[]
  /** A module to load first, as JavaScript. */
  preload?: string
  /** A line of Bash that runs the program, which is `"$@"` there. */
  shell?: string
}

/** Makes standard output a terminal for the program; `.ci/newcomer` starts the service on a real one. */
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

/** Returns the options of `spawn`. The process gets only PATH and HOME of the tests' own environment. */
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
 * @param options.input its standard input
 * @param options.timeout after which it is killed, in milliseconds
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

/** Returns the error message of a command that failed and printed nothing else; of `serve`, the log has its reasons too. */
export function refusalOf({ code, stdout, stderr }: Outcome): string {
  expect([code, stdout], stderr).toEqual([1, expect.stringMatching(/^(\{"level":60,.*\}\n)?$/)])
  return stderr
}

/** Starts a command, which is killed after the file's tests. */
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
  // Not `exit`, because the last output may arrive later.
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  return {
    child,
    printed: () => printed,
    /** Returns its standard output so far. */
    log: () => log,
    /** Resolves with its exit code, or null when a signal has killed it. */
    ended,
  }
}

/** The service in its own process. */
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
  // Another program has an OpenAPI document of its own.
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
    /** Sends a signal and waits for the end. @returns the exit code, or null when the signal killed the process */
    stop(signal: NodeJS.Signals) {
      child.kill(signal)
      return ended
    },
  }
}
