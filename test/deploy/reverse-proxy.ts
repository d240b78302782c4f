/** Starts nginx, HAProxy or Caddy with the example of deploy/, in front of an instance of the service. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterFile } from '../support/cleanups.ts'
import { createDirectory } from '../support/directory.ts'
import { canConnect, freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** The file with a key and a certificate for `localhost`, which callers of a proxy trust. */
export const certificate = join(import.meta.dirname, '../support/localhost.pem')

/** The ports of the proxy and of the instance, and a directory for the files of the proxy. */
type Places = Record<'http' | 'https' | 'service' | 'health', number> & { directory: string }

type Replacement = readonly [example: string | RegExp, test: string]

interface Example {
  file: string
  /** Returns replacements for the addresses, ports and files of the example. */
  replacements(places: Places): Replacement[]
  /** Returns the command that runs the proxy in the foreground. */
  command(file: string, places: Places): string[]
}

/** Replaces the addresses of the two instances. Nothing listens at the second address, so that instance is down. */
const createInstanceReplacements = ({ service }: Places): Replacement[] => [
  ['10.0.0.1:8080', `127.0.0.1:${service}`],
  ['10.0.0.2:8080', `127.0.0.3:${service}`],
]

const examples: Record<'nginx' | 'haproxy' | 'caddy', Example> = {
  nginx: {
    file: 'nginx.conf',
    replacements: places => [
      ...createInstanceReplacements(places),
      ['listen 80;', `listen 127.0.0.1:${places.http};`],
      ['listen 443 ', `listen 127.0.0.1:${places.https} `],
      ['/etc/ssl/certs/gateway.pem', certificate],
      ['/etc/ssl/private/gateway.key', certificate],
    ],
    command: (file, { directory }) => {
      const own = `daemon off; error_log stderr; pid ${join(directory, 'pid')};`
      return ['nginx', '-c', file, '-p', directory, '-e', 'stderr', '-g', own]
    },
  },
  haproxy: {
    file: 'haproxy.cfg',
    replacements: places => [
      ...createInstanceReplacements(places),
      ['bind :80\n', `bind 127.0.0.1:${places.http}\n`],
      ['bind :443 ', `bind 127.0.0.1:${places.https} `],
      ['/etc/haproxy/gateway.pem', certificate],
      ['port 8081', `port ${places.health}`],
    ],
    command: file => ['haproxy', '-db', '-f', file],
  },
  caddy: {
    file: 'Caddyfile',
    replacements: places => [
      ...createInstanceReplacements(places),
      [/^\{\n/m, `{\n\tadmin off\n\thttp_port ${places.http}\n\thttps_port ${places.https}\n`],
      // The example has no certificate, because Caddy gets one for a public name. A test needs its own certificate.
      ['gateway.example.com {\n', `localhost {\n\ttls ${certificate} ${certificate}\n`],
      ['health_port 8081', `health_port ${places.health}`],
    ],
    command: file => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
}

export type ProxyKind = keyof typeof examples

/**
 * Starts a proxy in front of two instances, of which one does not run. The proxy ends after the tests of the file.
 *
 * @returns the ports of the proxy
 */
export async function startReverseProxy(kind: ProxyKind, instance: { service: number; health: number }) {
  const [http, https] = [await freePort(), await freePort()]
  const places = { ...instance, http, https, directory: createDirectory() }
  const { file, replacements, command } = examples[kind]
  const adapted = join(places.directory, file)
  const text = readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8')
  writeFileSync(
    adapted,
    replacements(places).reduce((current, [example, test]) => {
      const changed = current.replace(example, test)
      if (changed === current) throw new Error(`deploy/${file} has no ${example}.`)
      return changed
    }, text),
  )
  const [program = '', ...args] = command(adapted, places)
  const environment = { PATH: process.env.PATH, HOME: places.directory }
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: environment })
  let printed = ''
  child.stderr.on('data', (chunk: Buffer) => {
    printed += chunk
  })
  const ended = new Promise<void>((resolve, reject) => child.once('exit', () => resolve()).once('error', reject))
  afterFile(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await Promise.race([
    until(`${program} listens`, async () => (await canConnect(http)) && canConnect(https)),
    ended.then(() => Promise.reject(new Error(`${program} ended:\n${printed}`))),
  ])
  return { http, https }
}
