/** A real Pgpool-II, which routes reads to standbys: Debian's package `pgpool2`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServerDirectory } from './directory.ts'
import { freePort, untilListening } from './free-port.ts'

const program = '/usr/sbin/pgpool'

/**
 * Starts Pgpool-II on a port of 127.0.0.1. It sends each read-only statement to another standby, and all other
 * statements to the primary. The logins need no password.
 *
 * @param more the settings to add or to replace
 */
export async function startPgpool(primary: number, standbys: readonly number[], more: Record<string, string> = {}) {
  const { path: directory, account } = createServerDirectory()
  const [port, pcpPort] = [await freePort(), await freePort()]
  const backends = [primary, ...standbys].flatMap((port, number) => [
    [`backend_hostname${number}`, '127.0.0.1'],
    [`backend_port${number}`, String(port)],
    [`backend_weight${number}`, number === 0 ? '0' : '1'],
    [`backend_flag${number}`, number === 0 ? 'ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER' : 'DISALLOW_TO_FAILOVER'],
  ])
  const settings = {
    ...{ backend_clustering_mode: 'streaming_replication', listen_addresses: '127.0.0.1', port: String(port) },
    ...{ pcp_port: String(pcpPort), socket_dir: directory, pcp_socket_dir: directory },
    ...{ pid_file_name: join(directory, 'pid'), logdir: directory, work_dir: directory },
    ...{ num_init_children: '100', max_pool: '1', sr_check_period: '0', failover_on_backend_error: 'off' },
    ...{ load_balance_mode: 'on', statement_level_load_balance: 'on', memory_cache_enabled: 'off' },
    ...Object.fromEntries(backends),
    ...more,
  }
  const write = (name: string, text = '') => {
    writeFileSync(join(directory, name), text, { mode: 0o644 })
    return join(directory, name)
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
  const files = ['-f', write('pgpool.conf', lines.join('')), '-F', write('pcp.conf'), '-a', write('pool_hba.conf')]
  const child = spawn(program, ['-n', ...files], { ...account, cwd: '/', stdio: 'ignore' })
  await untilListening('Pgpool-II', port, child)
  return {
    port,
    async remove() {
      const closed = once(child, 'close')
      child.kill('SIGINT')
      await closed
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
