/** Checks deploy/compose.yaml with Docker Compose, and runs its configuration files with real servers. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readConfig } from '../../src/config/config.ts'
import { startFaultServer } from '../faults/support/start.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDirectory } from '../support/directory.ts'
import { canConnect, freePort, listen } from '../support/free-port.ts'
import { createPgBouncer } from '../support/pgbouncer.ts'
import { run, serve } from '../support/process.ts'
import { until } from '../support/until.ts'
import { promtool } from './prometheus.ts'

const folder = createDirectory()
cpSync(join(import.meta.dirname, '../../deploy'), folder, { recursive: true })
const createSecrets = (...receiver: string[]) =>
  spawnSync(join(folder, 'create-secrets'), receiver, { encoding: 'utf8' })
const withoutReceiverOutcome = createSecrets()
createSecrets('https://alerts.example.com/hook')
const readSecret = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8')

/** Runs Docker Compose. No engine is needed to check a file. */
const runCompose = (...args: string[]) =>
  spawnSync('docker-compose', ['-f', 'compose.yaml', ...args], { cwd: folder, encoding: 'utf8' })

const Service = z.looseObject({
  image: z.string(),
  build: z.unknown().optional(),
  user: z.string(),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  environment: z.record(z.string(), z.string()).nullish(),
  command: z.array(z.string()).nullish(),
  mem_limit: z.string().optional(),
  stop_grace_period: z.string().optional(),
  ports: z.array(z.object({ host_ip: z.string().optional(), target: z.number() })).optional(),
  volumes: z.array(z.object({ type: z.string(), source: z.string().optional() })).optional(),
  secrets: z.array(z.object({ source: z.string(), target: z.string().optional() })).optional(),
  networks: z.record(z.string(), z.unknown()),
})
const printedConfig = runCompose('config', '--format', 'json')
const Network = z.object({ internal: z.boolean().optional() })
const File = z.object({ services: z.record(z.string(), Service), networks: z.record(z.string(), Network) })
const { services, networks } = File.parse(JSON.parse(printedConfig.stdout))

test('Docker Compose accepts the file', () => {
  expect(runCompose('config', '-q')).toMatchObject({ status: 0, stdout: '', stderr: '' })
})

test.each(Object.entries(services))('%s runs without root, on a file system that it cannot change', (name, service) => {
  expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  expect(service.user).not.toMatch(/^(root|0)(:|$)/)
  expect(service.mem_limit).toMatch(/^\d+$/)
  if (name === 'gateway') expect(readFileSync('Dockerfile', 'utf8')).toContain('HEALTHCHECK')
  else if (name !== 'migrate') expect(service.healthcheck?.test?.length).toBeGreaterThan(1)
  // Each image has a version, so that each start runs the same programs.
  if (service.build === undefined) expect(service.image).toMatch(/:v?\d+[.\w-]*$/)
  // Published ports are reachable only from the same machine.
  for (const { host_ip: address } of service.ports ?? []) expect(address).toBe('127.0.0.1')
  // Each mounted file must exist.
  for (const { type, source = '' } of service.volumes ?? []) if (type === 'bind') statSync(source)
  for (const [variable, value] of Object.entries(service.environment ?? {})) {
    if (/PASSWORD|SECRET|DATABASE_URL|KEY$/.test(variable)) expect(value, variable).toMatch(/^\/run\/secrets\//)
  }
})

test('the service reads its configuration, and publishes only the port of the API', () => {
  const environment = services.gateway?.environment ?? {}
  const image = { NODE_ENV: 'production', HOST: '0.0.0.0' }
  const config = readConfig({ ...image, ...environment, ...parseEnv(readSecret('gateway.env')) })
  expect(config).toMatchObject({ rateStore: 'redis', startupParameters: false, compression: true, healthPort: 8081 })
  expect(services.gateway?.ports?.map(({ target }) => target)).toEqual([8080])
  expect(services.gateway?.secrets).toEqual([{ source: 'gateway.env', target: '/app/.env' }])
  expect(services.gateway?.depends_on?.migrate?.condition).toBe('service_completed_successfully')
  // After the shutdown delay, running requests have ten seconds to finish.
  expect(Number.parseInt(`${services.gateway?.stop_grace_period}`, 10)).toBeGreaterThan(config.shutdownDelay + 10)
  // If Redis evicted the count of a caller, the caller could exceed its rate.
  expect(services.redis?.command).toContain('noeviction')
})

test('services that only other services use have no connection to outside networks', () => {
  expect(networks.back?.internal).toBe(true)
  for (const name of ['migrate', 'postgres', 'pgbouncer', 'redis', 'prometheus'])
    expect(Object.keys(services[name]?.networks ?? {}), name).toEqual(['back'])
})

test('Prometheus sends alerts to the Alertmanager, which can reach a receiver outside', async () => {
  await promtool(['check', 'config', join(folder, 'prometheus.yaml')])
  const [address = ''] =
    /(?<=targets: \[')alertmanager[^']*/.exec(readFileSync(join(folder, 'prometheus.yaml'), 'utf8')) ?? []
  const [name = '', port] = address.split(':')
  expect(services[name]?.healthcheck?.test?.join(' ')).toContain(`:${port}/`)
  const own = Object.keys(services[name]?.networks ?? {})
  expect(own).toEqual(expect.arrayContaining(Object.keys(services.prometheus?.networks ?? {})))
  expect(own.some(network => !networks[network]?.internal)).toBe(true)
})

test('the Alertmanager sends an alert to the webhook URL in the secret', async () => {
  const received: unknown[] = []
  const receiver = createServer(async (request, response) => {
    received.push(JSON.parse(await readText(request)))
    response.end()
  })
  writeFileSync(join(folder, 'receiver'), `http://127.0.0.1:${await listen(receiver)}/hook`)
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  const configuration = readFileSync(join(folder, 'alertmanager.yaml'), 'utf8')
    .replace('/run/secrets/alert_webhook_url', join(folder, 'receiver'))
    .replace('route:', 'route:\n  group_wait: 0s')
  writeFileSync(join(folder, 'alertmanager.here.yaml'), configuration)
  const options = [
    ...[`--config.file=${folder}/alertmanager.here.yaml`, `--storage.path=${folder}/alertmanager`],
    ...[`--web.listen-address=${address}`],
    ...(services.alertmanager?.command ?? []).filter(option => !/config|storage/.test(option)),
  ]
  const child = spawn('prometheus-alertmanager', options, { stdio: 'ignore' })
  afterFile(() => child.kill('SIGKILL'))
  const alert = { labels: { alertname: 'VoucherGatewayDown', job: 'voucher-gateway', severity: 'critical' } }
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify([alert]) }
  await until('the Alertmanager listens', () => canConnect(port), 30_000)
  expect((await fetch(`http://${address}/api/v2/alerts`, request)).status).toBe(200)
  await until('the receiver has the alert', async () => received.length > 0, 30_000)
  expect(received[0]).toMatchObject({ receiver: 'operator', status: 'firing', alerts: [alert] })
})

test('all passwords differ, and only the owner can enter the directory of the secrets', () => {
  expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700)
  const passwords = readdirSync(join(folder, 'secrets'))
    .filter(name => name.endsWith('_password'))
    .map(readSecret)
  expect(new Set(passwords).size).toBe(4)
  for (const password of passwords) expect(password).toMatch(/^[\da-f]{64}$/)
  expect(createSecrets('https://alerts.example.com/hook').status).toBe(1)
  // `create-secrets` needs the URL of a receiver, because alerts would reach no person without one.
  expect(withoutReceiverOutcome).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('create-secrets https://'),
  })
  expect(readSecret('alert_webhook_url')).toBe('https://alerts.example.com/hook')
})

test('one login of roles.sql migrates the database, and the other login serves it through PgBouncer', async () => {
  const server = await startFaultServer()
  const roles = join(folder, 'roles.here.sql')
  writeFileSync(roles, readFileSync(join(folder, 'roles.sql'), 'utf8').replaceAll('/run', folder))
  const port = String(server.port)
  const options = ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-p', port, '-U', 'postgres', '-f', roles]
  execFileSync('psql', options)
  const urlOf = (name: string, former: string, at: string) =>
    `${parseEnv(readSecret(name)).DATABASE_URL}`.replace(former, at)

  const owner = { DATABASE_URL: urlOf('migrate.env', 'postgres:5432', `127.0.0.1:${port}`) }
  expect(await run(['migrate'], owner)).toMatchObject({ code: 0 })
  const readRoles = `select rolname, rolsuper from pg_authid
    where rolname ~ '^gateway_' and rolpassword like 'SCRAM-SHA-256$%' order by 1`
  const expected = ['gateway_login', 'gateway_owner'].map(rolname => ({ rolname, rolsuper: false }))
  expect([...(await server.use('gateway', sql => sql.unsafe(readRoles)))]).toEqual(expected)

  // PgBouncer runs as another user, who cannot read the directory of the secrets, so its file of users is copied.
  const users = join(folder, 'userlist.txt')
  writeFileSync(users, readSecret('userlist.txt'))
  const at = { server: { host: '127.0.0.1', port: server.port }, port: await freePort(), login: 'gateway_login' }
  const pooler = createPgBouncer({ ...at, changes: { auth_file: users } })
  afterFile(pooler.remove)
  await pooler.start()
  const [, ...check] = services.pgbouncer?.healthcheck?.test ?? []
  const [program = '', ...words] = check.map(word => word.replace('6432', String(at.port)))
  execFileSync(program, words)
  const pooled = { DATABASE_URL: urlOf('gateway.env', 'pgbouncer:6432', `127.0.0.1:${at.port}`) }
  const service = await serve({ ...pooled, DATABASE_STARTUP_PARAMETERS: 'off', LOG_LEVEL: 'silent' })
  await until('it is ready', async () => (await service.ready()).status === 200)
  expect(await service.stop('SIGTERM')).toBe(0)
})
