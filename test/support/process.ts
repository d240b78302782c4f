import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** As it is run: compiled (the global set-up sees to that). */
const entry = 'dist/main.js'

/** The environment of a command: nothing of the tests' own but what is given. */
const environmentOf = (given: NodeJS.ProcessEnv) => ({ PATH: process.env.PATH, HOME: process.env.HOME, ...given })

/** What a finished command said. */
export interface Outcome {
  code: number
  stdout: string
  stderr: string
}

/** Runs a command of the command line to its end. */
export function run(args: string[], environment: NodeJS.ProcessEnv): Promise<Outcome> {
  return new Promise(resolve => {
    const options = { env: environmentOf(environment), timeout: 60_000 }
    execFile(process.execPath, [entry, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr })
    })
  })
}

/** The service, running as a process of its own. */
export interface Service {
  child: ChildProcess
  /** What it has printed so far. */
  printed(): string
  /** The address under which it said it serves REST. */
  restAddress: string
  /** Sends the signal, and waits for the end; the exit code, null when the signal killed it. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts `serve`, and waits until it says where it listens. */
export async function serve(environment: NodeJS.ProcessEnv): Promise<Service> {
  const child = spawn(process.execPath, [entry, 'serve'], { env: environmentOf({ PORT: '0', ...environment }) })
  let printed = ''
  // Not `exit`: what it printed last may come later.
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  const restAddress = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      printed += chunk
      const found = /^ *REST +(\S+)\n[\s\S]*Ctrl-C stops it/m.exec(printed)?.[1]
      if (found) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void ended.then(code => reject(new Error(`serve ended with ${code}:\n${printed}`)))
  })
  afterAll(() => child.kill('SIGKILL'))
  return {
    child,
    printed: () => printed,
    restAddress,
    stop(signal) {
      child.kill(signal)
      return ended
    },
  }
}

/** A data directory of this test file's own. */
export function createDataDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'gateway-data-'))
  chmodSync(path, 0o711)
  afterAll(() => rmSync(path, { recursive: true, force: true }))
  return path
}
