/**
 * A cluster of Patroni: two PostgreSQL servers from the system's packages, etcd, and HAProxy, which forwards
 * connections to the primary.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findCluster } from '../../../packages/embedded/src/paths.ts'
import { afterFile } from '../../support/cleanups.ts'
import { createDirectory } from '../../support/directory.ts'
import { canConnect, freePort } from '../../support/free-port.ts'
import { packagedPrograms } from '../../support/packaged-postgres.ts'
import { until } from '../../support/until.ts'
import { signalAll } from './server.ts'

const host = '127.0.0.1'

/** The timeouts of Patroni, in seconds. It allows no lower `ttl`. */
const timeouts = { ttl: 20, loop_wait: 2, retry_timeout: 5 }

const limits = { max_connections: 150, max_prepared_transactions: 50 }
const parameters = { ...limits, wal_log_hints: 'on', log_min_messages: 'fatal' }

export type Cluster = Awaited<ReturnType<typeof startCluster>>
type Node = Awaited<ReturnType<typeof startNode>>

function start(program: string, args: string[], account: { uid: number; gid: number }): ChildProcess {
  const child = spawn(program, args, { ...account, cwd: '/', stdio: 'ignore' })
  afterFile(() => child.kill('SIGKILL'))
  return child
}

async function startNode(name: string, etcd: number, directory: string, account: { uid: number; gid: number }) {
  const [port, rest] = [await freePort(), await freePort()]
  const home = join(directory, name)
  mkdirSync(home, { mode: 0o711 })
  chownSync(home, account.uid, account.gid)
  const file = join(directory, `${name}.yaml`)
  const authentication = { username: 'postgres', password: 'unused' }
  writeFileSync(
    file,
    JSON.stringify({
      ...{ scope: 'gateway', name, log: { level: 'CRITICAL' } },
      restapi: { listen: `${host}:${rest}`, connect_address: `${host}:${rest}` },
      etcd3: { host: `${host}:${etcd}` },
      bootstrap: {
        dcs: { ...timeouts, synchronous_mode: true, postgresql: { use_pg_rewind: true, parameters } },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }],
      },
      postgresql: {
        ...{ listen: `${host}:${port}`, connect_address: `${host}:${port}`, bin_dir: packagedPrograms() },
        ...{ data_dir: join(home, 'data'), pgpass: join(home, 'pgpass') },
        authentication: { superuser: authentication, replication: authentication },
        parameters: { unix_socket_directories: home },
        // A server on which pg_rewind fails is copied again at once.
        ...{ remove_data_directory_on_rewind_failure: true, remove_data_directory_on_diverged_timelines: true },
        basebackup: { checkpoint: 'fast' },
        pg_hba: [`host all all ${host}/32 trust`, `host replication all ${host}/32 trust`],
      },
    }),
  )
  let patroni = start('patroni', [file], account)
  const postmaster = () => Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0])
  afterFile(() => signal('SIGKILL'))

  /** Sends a signal to Patroni and to all processes of its PostgreSQL server. */
  function signal(name: NodeJS.Signals): void {
    patroni.kill(name)
    try {
      signalAll(postmaster(), name)
    } catch {
      // The server has already ended.
    }
  }

  async function confirms(role: string): Promise<boolean> {
    const signal = AbortSignal.timeout(1_000)
    return (await fetch(`http://${host}:${rest}/${role}`, { signal }).catch(() => null))?.status === 200
  }

  return {
    ...{ name, port, rest },
    /** Returns whether Patroni reports that its server is the primary. */
    isPrimary: () => confirms('primary'),
    /** Returns whether commits at the primary wait for this server. */
    isSynchronous: () => confirms('synchronous'),
    async switchOver() {
      const body = JSON.stringify({ leader: name })
      const answer = await fetch(`http://${host}:${rest}/switchover`, { method: 'POST', body })
      if (!answer.ok) throw new Error(`Patroni refused a switchover: ${await answer.text()}`)
    },
    crash: () => signal('SIGKILL'),
    /** Suspends Patroni and its server. Their connections stay open. */
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    /** Starts Patroni again after a crash. */
    async restart() {
      if (patroni.exitCode === null && patroni.signalCode === null) await once(patroni, 'exit')
      patroni = start('patroni', [file], account)
    },
  }
}

const haproxy = (port: number, nodes: readonly Node[]) => `
global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
listen primary
  bind ${host}:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(node => `  server ${node.name} ${host}:${node.port} check port ${node.rest}`).join('\n')}
`

/**
 * Starts a cluster, and waits until it has a primary and a synchronous standby. The cluster is stopped after the tests
 * of the file.
 */
export async function startCluster() {
  const directory = createDirectory()
  // This account is not root: PostgreSQL refuses to run as root.
  const { uid = 0, gid = 0 } = findCluster(directory).account
  const account = { uid, gid }
  const [etcd, peer, port] = [await freePort(), await freePort(), await freePort()]
  const etcdHome = join(directory, 'etcd')
  mkdirSync(etcdHome, { mode: 0o700 })
  chownSync(etcdHome, uid, gid)
  const [client, peers] = [`http://${host}:${etcd}`, `http://${host}:${peer}`]
  const own = ['--name', 'one', '--data-dir', etcdHome, '--initial-cluster', `one=${peers}`]
  const listen = ['--listen-client-urls', client, '--listen-peer-urls', peers]
  start('etcd', [...own, ...listen, '--advertise-client-urls', client, '--initial-advertise-peer-urls', peers], account)
  await until('etcd listens', () => canConnect(etcd))
  const nodes = [await startNode('a', etcd, directory, account), await startNode('b', etcd, directory, account)]
  const file = join(directory, 'haproxy.cfg')
  writeFileSync(file, haproxy(port, nodes))
  start('haproxy', ['-db', '-f', file], account)

  const cluster = {
    port,
    /** Waits until commits wait for the standby, and returns the primary and the standby. */
    whole: () =>
      until(
        'the cluster has a primary and a synchronous standby',
        async () => {
          for (const [at, primary] of nodes.entries()) {
            const standby = nodes[1 - at]
            if (standby && (await primary.isPrimary()) && (await standby.isSynchronous())) return { primary, standby }
          }
          return null
        },
        120_000,
      ),
  }
  await cluster.whole()
  await until('HAProxy leads to the primary', () => canConnect(port))
  return cluster
}
