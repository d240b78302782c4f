import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Node reads it as a process starts: receivers of webhooks in tests have this certificate.
process.env.NODE_EXTRA_CA_CERTS = `${import.meta.dirname}/test/webhook/receiver.pem`

// graphql has two builds and Vite would choose another one than Node: two copies in one process do not work.
const resolve = { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] }

/** Starts some forty processes: longer than the other tests take. */
const samples = ['events', 'redeeming', 'samples'].map(name => `test/docs/${name}.test.ts`)

/** These tests explain each statement over tables of many rows, which takes a seventh of the main tests' time. */
const plans = ['test/db/plans.test.ts']

/** As long as those: they run at night. */
const partitions = ['test/db/partitions.test.ts']

/** It scrapes a service in faults for half a minute: it runs at night. */
const prometheus = ['test/deploy/metrics.test.ts']

/**
 * What a platform's tables, logins, rows and DDL may do to the gateway, and webhooks, which wait for retries: long. They run on the
 * packaged server, and on the embedded one at night.
 */
const platforms = [
  'test/webhook/*.test.ts',
  'test/adopt/{check,keys,other-platform,replication}.test.ts',
  'test/projection/{capture,hostile-rows,rights,unreadable-source}.test.ts',
]

/** What integrators use: the client, the command `sync` with its stores, and streams, which wait for slow readers. */
const clients = [
  'packages/client/test/**/*.test.ts',
  'test/{export,graphql}/stream.test.ts',
  'test/sync/{changed-lists,directory-lock,hostile-service,reference-first-pass,reference-sync,self-check}.test.ts',
]

/** Needs the programs of the packaged server. */
const dump = 'test/projection/dump.test.ts'

/** Not run behind a pooler: files that count its statements too, and long ones that hardly use the database. */
const withoutPooler = ['statements', 'generated-documents', 'limits'].map(name => `test/**/${name}.test.ts`)

const common = {
  setupFiles: 'test/support/set-up-file.ts',
  // They end a test that hangs: a slow machine takes several times as long as a quick one.
  ...{ testTimeout: 120_000, hookTimeout: 300_000, expect: { poll: { timeout: 10_000 } } },
}

/** Suites that keep the processor busy have a worker less. Vitest asks for a group of their own. */
const fewWorkers = { maxWorkers: 2, sequence: { groupOrder: 1 } }

const suites = [
  {
    resolve,
    test: {
      name: 'node',
      include: ['test/**/*.test.ts'],
      exclude: [
        'test/admin/**',
        'test/adopt/medusa/**',
        'test/browser/**',
        'test/cli/**',
        'test/deploy/**',
        'test/faults/**',
        'test/orms/**',
        'test/prism/**',
        'test/redis/**',
        'test/upgrade/**',
        ...samples,
        dump,
        ...plans,
        ...partitions,
        ...platforms,
        ...clients,
      ],
      // Test files share modules: importing them for each file took a third of the time.
      isolate: false,
      ...common,
    },
  },
  { resolve, test: { name: 'platforms', include: platforms, isolate: false, ...common } },
  { resolve, test: { name: 'clients', include: clients, isolate: false, ...common } },
  { resolve, test: { name: 'plans', include: plans, ...common } },
  { resolve, test: { name: 'partitions', include: partitions, ...common } },
  // These tests start commands in separate processes, which takes longer than the commands themselves.
  { resolve, test: { name: 'cli', include: ['test/cli/**/*.test.ts'], isolate: false, ...common } },
  { resolve, test: { name: 'upgrade', include: ['test/upgrade/**/*.test.ts'], ...common } },
  // Each test signs in, and checking a password is slow by design.
  { resolve, test: { name: 'admin', include: ['test/admin/**/*.test.ts'], isolate: false, ...common, ...fewWorkers } },
  // The contract through PgBouncer, which the global set-up starts for it.
  {
    resolve,
    test: {
      name: 'pgbouncer',
      include: ['test/{rest,graphql}/**/*.test.ts', 'test/admin/{audit,tokens}.test.ts'],
      exclude: [...plans, ...withoutPooler],
      isolate: false,
      ...common,
    },
  },
  // Suites that write, on the server of the system's packages with its defaults, which the global set-up starts for them.
  {
    resolve,
    test: {
      name: 'packaged',
      include: [
        'test/{adopt,projection,sync,webhook}/**/*.test.ts',
        'test/db/{figure*,time-zones}.test.ts',
        'test/cli/{import,migrate}.test.ts',
      ],
      exclude: ['test/adopt/medusa/**'],
      isolate: false,
      ...common,
    },
  },
  // These start redis-server: the main tests need Node alone.
  { resolve, test: { name: 'redis', include: ['test/redis/**/*.test.ts'], isolate: false, ...common } },
  // The files of deploy/, with the programs that read them: .ci/setup installs these.
  {
    resolve,
    test: { name: 'deploy', include: ['test/deploy/**/*.test.ts'], exclude: prometheus, isolate: false, ...common },
  },
  { resolve, test: { name: 'prometheus', include: prometheus, ...common } },
  // These need packages of their own: npm install --prefix test/orms.
  { resolve, test: { name: 'orms', include: ['test/orms/*.test.ts'], ...common } },
  // On the packaged server too. It needs packages of its own: npm install --prefix test/adopt/medusa.
  { resolve, test: { name: 'medusa', include: ['test/adopt/medusa/*.test.ts'], ...common } },
  // It needs packages of its own: npm install --prefix test/prism.
  { resolve, test: { name: 'prism', include: ['test/prism/*.test.ts'], ...common } },
  { resolve, test: { name: 'samples', include: samples, ...common } },
  {
    resolve,
    test: {
      name: 'faults',
      include: ['test/faults/**/*.test.ts'],
      // Each kills, stops or overloads servers of its own: with another one at the same time, its bounds on time would fail.
      fileParallelism: false,
      ...common,
      testTimeout: 180_000,
    },
  },
  {
    resolve,
    test: {
      name: 'browser',
      include: ['test/browser/**/*.test.ts'],
      isolate: false,
      ...common,
      ...fewWorkers,
      testTimeout: 240_000,
    },
  },
]

/** The files that take the longest, and the browser's, most of which take longer than the others of their group. */
const slowestFiles = [
  ...plans,
  ...samples,
  ...['add-resource', 'adopt', 'doctor', 'sync', 'metrics'].map(name => `test/cli/${name}.test.ts`),
  ...['docs', 'admin-looks', 'dashboard-figures'].map(name => `test/browser/${name}.test.ts`),
  ...['test/browser/', 'test/admin/openid.test.ts', 'test/admin/session.test.ts'],
  ...['test/adopt/check.test.ts', 'test/adopt/replication.test.ts'],
  ...['test/webhook/deliveries.test.ts', 'test/http/health.test.ts', 'test/export/stream.test.ts'],
  ...['test/graphql/stream.test.ts', 'test/projection/capture.test.ts'],
  ...['test/graphql/search/', 'test/openapi/fuzz.test.ts', 'test/export/limits.test.ts', 'test/projection/'],
]

/** Starts the longest files first: each would run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = slowestFiles.findIndex(path => moduleId.includes(`/${path}`))
      return found < 0 ? slowestFiles.length : found
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

/** `npm test -- --project admin` names a suite; without a name only the main tests run. */
const named = process.argv.some(argument => argument.startsWith('--project'))

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // Tests wait for the database and for timeouts about half of the time: three workers use two cores best.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: named ? suites : suites.filter(({ test }) => test.name === 'node'),
  },
})
