/** deploy/compose.yaml, by Docker Compose's own check, and what its files do on real servers. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig } from '../../src/config/config.ts'
import { startFaultServer } from '../faults/support/start.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDirectory } from '../support/directory.ts'
import { freePort } from '../support/free-port.ts'
import { createPgBouncer } from '../support/pgbouncer.ts'
import { run, serve } from '../support/process.ts'
import { until } from '../support/until.ts'
import { promtool } from './prometheus.ts'

const folder = createDirectory()
cpSync(join(import.meta.dirname, '../../deploy'), folder, { recursive: true })
const createSecrets = (...receiver: string[]) =>
  spawnSync(join(folder, 'create-secrets'), receiver, { encoding: 'utf8' })
const withoutReceiver = createSecrets()
createSecrets('https://alerts.example.com/hook')
const secret = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8')

/** Runs Docker Compose, which needs no engine to check a file. */
const compose = (file: string, ...args: string[]) =>
  spawnSync('docker-compose', ['-f', file, ...args], { cwd: folder, encoding: 'utf8' })

const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
const Service = z.object({
  image: z.string(),
  build: z.unknown().optional(),
  user: z.string(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
  environment: z.record(z.string(), z.string()).nullish(),
  command: z.array(z.string()).nullish(),
  mem_limit: z.string().optional(),
  ports: z.array(z.object({ host_ip: z.string().optional(), target: z.number() })).optional(),
  volumes: z.array(z.object({ type: z.string(), source: z.string().optional() })).optional(),
  secrets: z.array(z.object({ source: z.string(), target: z.string().optional() })).optional(),
  networks: z.record(z.string(), z.unknown()),
})
const printed = compose('compose.yaml', 'config', '--format', 'json')
const { services, networks } = z
  .object({
    services: z.record(z.string(), Service),
    networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  })
  .parse(JSON.parse(printed.stdout))

test('Docker Compose accepts the file, and refuses one with a misspelt key', () => {
  expect(compose('compose.yaml', 'config', '-q')).toMatchObject({ status: 0, stdout: '', stderr: '' })
  writeFileSync(join(folder, 'misspelt.yaml'), text.replace('healthcheck:', 'healtcheck:'))
  expect(compose('misspelt.yaml', 'config', '-q').stderr).toContain('healtcheck')
})

test.each(Object.entries(services))('%s runs without root, on a file system that it cannot change', (name, service) => {
  expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  expect(service.user).not.toMatch(/^(root|0)(:|$)/)
  expect(service.mem_limit).toMatch(/^\d+$/)
  if (name === 'gateway') expect(readFileSync('Dockerfile', 'utf8')).toContain('HEALTHCHECK')
  else if (name !== 'migrate') expect(service.healthcheck?.test?.length).toBeGreaterThan(1)
  // An image has a version, so that another start of these files runs the same programs.
  if (service.build === undefined) expect(service.image).toMatch(/:v?\d+[.\w-]*$/)
  // Whatever a port is for, only this machine reaches it.
  for (const { host_ip: address } of service.ports ?? []) expect(address).toBe('127.0.0.1')
  // Each file that is mounted exists.
  for (const { type, source = '' } of service.volumes ?? []) if (type === 'bind') statSync(source)
  for (const [variable, value] of Object.entries(service.environment ?? {})) {
    if (/PASSWORD|SECRET|DATABASE_URL|KEY$/.test(variable)) expect(value, variable).toMatch(/^\/run\/secrets\//)
  }
})

test('the service reads its configuration, and listens for its health checks and metrics alone', () => {
  const environment = services.gateway?.environment ?? {}
  const config = readConfig({
    NODE_ENV: 'production',
    HOST: '0.0.0.0',
    ...environment,
    ...parseEnv(secret('gateway.env')),
  })
  expect(config).toMatchObject({
    rateStore: 'redis',
    startupParameters: false,
    compression: true,
    healthPort: 8081,
    metricsPort: 9464,
  })
  const open = services.gateway?.ports?.map(({ target }) => target)
  expect(open).toEqual([8080])
  expect(services.gateway?.secrets).toEqual([{ source: 'gateway.env', target: '/app/.env' }])
})

test('Prometheus sends alerts to the Alertmanager, which reaches a receiver outside', async () => {
  await promtool(['check', 'config', join(folder, 'prometheus.yaml')])
  const Configuration = z.object({
    alerting: z.object({
      alertmanagers: z.array(z.object({ static_configs: z.array(z.object({ targets: z.array(z.string()) })) })),
    }),
  })
  const { alerting } = Configuration.parse(parse(readFileSync(join(folder, 'prometheus.yaml'), 'utf8')))
  const addresses = alerting.alertmanagers.flatMap(each => each.static_configs.flatMap(({ targets }) => targets))
  expect(addresses).toHaveLength(1)
  for (const [name = '', port] of addresses.map(address => address.split(':'))) {
    expect(services[name]?.image).toContain('alertmanager')
    expect(services[name]?.healthcheck?.test?.join(' ')).toContain(`:${port}/`)
    const shared = Object.keys(services.prometheus?.networks ?? {})
    expect(Object.keys(services[name]?.networks ?? {})).toEqual(expect.arrayContaining(shared))
    expect(Object.keys(services[name]?.networks ?? {}).some(network => !networks[network]?.internal)).toBe(true)
  }
})

test('the Alertmanager passes an alert on to the webhook of the secret', async () => {
  const received: unknown[] = []
  const receiver = createServer(async (request, response) => {
    received.push(JSON.parse(await readText(request)))
    response.end()
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  afterFile(() => receiver.close())
  writeFileSync(join(folder, 'receiver'), `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`)
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  const configuration = readFileSync(join(folder, 'alertmanager.yaml'), 'utf8')
  writeFileSync(
    join(folder, 'alertmanager.here.yaml'),
    configuration
      .replace('/run/secrets/alert_webhook_url', join(folder, 'receiver'))
      .replace('route:', 'route:\n  group_wait: 0s'),
  )
  const child = spawn(
    'prometheus-alertmanager',
    [
      `--config.file=${folder}/alertmanager.here.yaml`,
      `--storage.path=${folder}/alertmanager`,
      `--web.listen-address=${address}`,
      ...(services.alertmanager?.command ?? []).filter(option => !/config|storage/.test(option)),
    ],
    { stdio: 'ignore' },
  )
  afterFile(() => child.kill('SIGKILL'))
  const alert = { labels: { alertname: 'VoucherGatewayDown', job: 'voucher-gateway', severity: 'critical' } }
  const send = () =>
    fetch(`http://${address}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([alert]),
    }).then(
      ({ ok }) => ok,
      () => false,
    )
  await until('the Alertmanager accepts the alert', send, 30_000)
  await until('the receiver has it', async () => received.length > 0, 30_000)
  expect(received[0]).toMatchObject({ receiver: 'operator', status: 'firing', alerts: [alert] })
})

test('the secrets differ, and only their owner enters the directory', () => {
  expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700)
  const passwords = readdirSync(join(folder, 'secrets'))
    .filter(name => name.endsWith('_password'))
    .map(secret)
  expect(new Set(passwords).size).toBe(4)
  for (const password of passwords) expect(password).toMatch(/^[\da-f]{64}$/)
  expect(createSecrets('https://alerts.example.com/hook').status).toBe(1)
  // Without a receiver, alerts would reach no person.
  expect(withoutReceiver).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('deploy/create-secrets https://'),
  })
  expect(secret('alert_webhook_url')).toBe('https://alerts.example.com/hook')
})

test('the logins of roles.sql migrate the database, and serve it through PgBouncer', async () => {
  const server = await startFaultServer()
  const roles = join(folder, 'roles.here.sql')
  writeFileSync(roles, readFileSync(join(folder, 'roles.sql'), 'utf8').replaceAll('/run', folder))
  const port = String(server.port)
  execFileSync('psql', [
    '-X',
    '-q',
    '-v',
    'ON_ERROR_STOP=1',
    '-h',
    '127.0.0.1',
    '-p',
    port,
    '-U',
    'postgres',
    '-f',
    roles,
  ])
  const urlOf = (name: string, former: string, at: string) =>
    `${parseEnv(secret(name)).DATABASE_URL}`.replace(former, at)

  const owner = { DATABASE_URL: urlOf('migrate.env', 'postgres:5432', `127.0.0.1:${port}`) }
  expect(await run(['migrate'], owner)).toMatchObject({ code: 0 })
  const rights = await server.use(
    'gateway',
    sql => sql`
    select rolname, rolsuper, rolpassword like 'SCRAM-SHA-256$%' as scram from pg_authid where rolname ~ '^gateway_' order by 1`,
  )
  const expected = ['gateway_login', 'gateway_owner'].map(rolname => ({ rolname, rolsuper: false, scram: true }))
  expect([...rights]).toEqual(expected)

  // PgBouncer runs as another user, who must not enter the directory of the secrets.
  const users = join(folder, 'userlist.txt')
  writeFileSync(users, secret('userlist.txt'))
  const at = { server: { host: '127.0.0.1', port: server.port }, port: await freePort(), login: 'gateway_login' }
  const pooler = createPgBouncer({ ...at, changes: { auth_file: users } })
  afterFile(pooler.remove)
  await pooler.start()
  const [, ...check] = services.pgbouncer?.healthcheck?.test ?? []
  execFileSync(
    `${check[0]}`,
    check.slice(1).map(word => word.replace('6432', String(at.port))),
  )
  const pooled = { DATABASE_URL: urlOf('gateway.env', 'pgbouncer:6432', `127.0.0.1:${at.port}`) }
  const service = await serve({ ...pooled, DATABASE_STARTUP_PARAMETERS: 'off', LOG_LEVEL: 'silent' })
  await until('it is ready', async () => (await service.ready()).status === 200)
  expect(await service.stop('SIGTERM')).toBe(0)
})
