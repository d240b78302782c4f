/**
 * The cost of a change for readers: `npm run bench -- compare <commit>` measures the working tree against that commit,
 * with all of v1, over REST and `/graphql`. Both versions, and a second copy of the working tree, are built and run in
 * turns. The ratio of the two copies shows the noise of the measurement. Each version has its own database, which its
 * own command line migrates. Both have the same records.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../src/db/sql.ts'
import { atEnd } from './harness/at-end.ts'
import { type Call, type Contender, prepareRequests } from './harness/contenders.ts'
import { postgresCpu } from './harness/cpu-time.ts'
import { createMigrated, startEmbeddedServer } from './harness/database-server.ts'
import { median, ratios } from './harness/goals.ts'
import { connections, Load } from './harness/load.ts'
import { graphqlTransport, operationNames, restTransport, type Variables } from './harness/operations.ts'
import { buildService, git, root } from './harness/packages.ts'
import { createToken, startService } from './harness/processes.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { describeCosts, measureRounds, valuesOf } from './harness/rounds.ts'
import { seed, sizes, treeOf } from './harness/seed.ts'

const options = readOptions({
  rounds: 12,
  /** A part of a name, such as `rest` or `Catalog`. Only calls whose names contain this text are compared. */
  only: '',
})
const [commit] = options.positionals
if (commit === undefined) throw new Error('Name a commit, for example: npm run bench -- compare HEAD~1')
const timing = { rounds: options.rounds, seconds: 0.25, warmUp: 3000 }

/** The highest ratio of Node's CPU time at which a call counts as equal. */
const equalLimit = 1.05

const workDirectory = mkdtempSync(join(tmpdir(), 'gateway-compare-'))
atEnd(async () => rmSync(workDirectory, { recursive: true, force: true }))

const size = sizes.short
const { root: group, firstLeaf, last } = treeOf(size)

/** @returns the id of a tree with all files of the working tree, without what git ignores */
function treeOfWorkingTree(): string {
  const env = { ...process.env, GIT_INDEX_FILE: join(workDirectory, 'index') }
  execFileSync('git', ['add', '--all'], { cwd: root, env })
  return execFileSync('git', ['write-tree'], { cwd: root, env, encoding: 'utf8' }).trim()
}

/**
 * Writes the files of a commit or tree into a new directory, and builds its service, with the working tree's packages
 * when the lock files are the same.
 */
function buildVersion(tree: string, directory: string): void {
  mkdirSync(directory)
  const archive = execFileSync('git', ['archive', tree], { cwd: root, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  const lock = readFileSync(join(directory, 'package-lock.json'), 'utf8')
  if (lock === readFileSync(join(root, 'package-lock.json'), 'utf8'))
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  else {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'], {
      cwd: directory,
      // The standard output is for the result, which may be recorded.
      stdio: ['ignore', process.stderr, 'inherit'],
    })
  }
  buildService(directory)
}

/** A version of the service with its database. */
type Version = Awaited<ReturnType<typeof prepareVersion>>

async function prepareVersion(name: string, tree: string) {
  const directory = join(workDirectory, name)
  buildVersion(tree, directory)
  const server = await startEmbeddedServer({ shared_buffers: '256MB' })
  const installation = await createMigrated(server, 'compare', directory)
  const sql = server.open('compare')
  await seed(sql, size)
  logProgress(`built ${name}, and filled its database`)
  const { version } = server
  return { installation, sql, version, secret: await createToken(installation, group) }
}

async function startContender(name: string, { installation, sql, secret }: Version): Promise<Contender> {
  const running = await startService(installation)
  const transport = restTransport(secret)
  const tenants = transport.request('ListTenants', {})
  // The first service of a version writes its records.
  for (let status = 503; status === 503; await sleep(100)) {
    status = (await fetch(running.origin + tenants.path, tenants)).status
  }
  return { name, transport, postgres: await postgresCpu(sql), ...running }
}

/** @returns a call of each operation of v1 */
async function readCalls(sql: Pool): Promise<Call[]> {
  const leaves = Array.from({ length: 1 + last - firstLeaf }, (_, n): Variables => ({ tenant: firstLeaf + n }))
  const rowsOf = (table: string, columns: string) =>
    sql.unsafe<Variables[]>(`select tenant_id as tenant, ${columns} from ${table} order by hashint8(id) limit 400`)
  const samples: Record<string, Variables[]> = {
    ListTenants: [{}],
    GetCatalogVoucher: await rowsOf('product', 'id as product'),
    GetPurchasedVoucher: await rowsOf('purchased_voucher', 'id as voucher'),
    GetMarketingSignup: await rowsOf('customer where marketing_opted', 'id as customer'),
    ResolveVoucher: await rowsOf('purchased_voucher', 'reference as voucher_reference'),
  }
  return operationNames.map(operation => ({
    ...{ name: operation, operation, samples: samples[operation] ?? leaves },
    afterCursor: samples[operation] === undefined,
  }))
}

const before = await prepareVersion('before', commit)
const after = await prepareVersion('after', treeOfWorkingTree())
const contenders = [
  await startContender('before', before),
  await startContender('after', after),
  await startContender('after again', after),
]
const calls = await readCalls(after.sql)
const load = new Load()
const texts: string[] = []
for (const transport of ['rest', 'graphql']) {
  const chosen = calls
    .map(call => ({ ...call, name: `${transport} ${call.name}` }))
    .filter(({ name }) => name.includes(options.only))
  const asked = contenders.map(contender =>
    transport === 'rest'
      ? contender
      : { ...contender, transport: graphqlTransport((contender.name === 'before' ? before : after).secret) },
  )
  const { requests, differing } = await prepareRequests(chosen, asked)
  const results = await measureRounds(requests, load, timing)
  const above = [...results.keys()].filter(call => {
    const [node, base] = ['after', 'before'].map(name => valuesOf(results, call, name, 'node'))
    return median(ratios(node!, base!)) > equalLimit
  })
  texts.push(`${describeCosts(results, name => (name === 'after again' ? 'after' : 'before'))}

Above ${equalLimit} in Node: ${above.join(', ') || 'none'}. Answered differently: ${differing.join(', ') || 'none'}.`)
}
const text = `${describeRun(after.version)} Before is ${git('show', '-s', '--format=%h (%s)', commit)}, after the working tree.

${connections} connections, ${timing.rounds} rounds in turns of some ${timing.seconds} s, the second half of a round in reverse order, after \
${timing.warmUp} requests to warm up; the same ${size.vouchers.toLocaleString('en')} vouchers, durable commits. CPU time is a request's. Ratios are of the \
same round: median (quartiles); of CPU time less is better. "after again" is a second process of after: its ratio is noise.

${texts.join('\n\n')}`
publish('A change against a commit', text)
