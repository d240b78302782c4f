import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededDatabase } from './database.ts'
import type { Asked } from './doors.ts'
import { attachInspector, type Inspector } from './inspector.mjs'
import { startService } from './line-up.ts'
import type { Load } from './load.ts'
import { freePort } from './process.ts'

const mebibyte = 1024 * 1024

/** Resident memory of a process, in MiB. */
function resident(pid: number): number {
  const [, kilobytes = 'NaN'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

/** @returns the service's resident memory in MiB: at rest, the most under a load, and when it has rested from that */
export async function measureResident(
  database: SeededDatabase,
  load: Load,
  requests: Asked[],
  seconds: { load: number; rest: number },
): Promise<{ idle: number; loaded: number; rested: number }> {
  const service = await startService(database)
  try {
    await sleep(5_000)
    const idle = resident(service.pid)
    let loaded = idle
    const watch = setInterval(() => {
      loaded = Math.max(loaded, resident(service.pid))
    }, 100)
    await load.put(service.origin, requests, 0, seconds.load)
    clearInterval(watch)
    await sleep(seconds.rest * 1000)
    return { idle, loaded, rested: resident(service.pid) }
  } finally {
    await service.stop()
  }
}

/** What is still in the heap when all that can go has gone, in bytes. */
async function liveHeap(inspector: Inspector): Promise<number> {
  // What waits for a timer or a finalizer goes with a later one.
  for (let turn = 0; turn < 3; turn++) {
    await inspector.call('HeapProfiler.collectGarbage')
    await sleep(200)
  }
  const { usedSize } = await inspector.call('Runtime.getHeapUsage')
  return Number(usedSize)
}

interface SampledNode {
  selfSize: number
  children: SampledNode[]
}

const sizeOf = ({ selfSize, children }: SampledNode): number =>
  children.reduce((sum, child) => sum + sizeOf(child), selfSize)

/** All that is allocated while some work is done, in bytes, by V8's sampling: what the collector took is counted too. */
async function allocated(inspector: Inspector, work: () => Promise<unknown>): Promise<number> {
  await inspector.call('HeapProfiler.startSampling', {
    samplingInterval: 16 * 1024,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  })
  await work()
  const { profile } = await inspector.call('HeapProfiler.stopSampling')
  return sizeOf((profile as { head: SampledNode }).head)
}

/** What the service's heap tells, seen through Node's inspector. */
export interface Heap {
  /** After the collector, when the service is warm, and after so many requests more, in MiB. */
  before: number
  after: number
  requests: number
  /** Bytes allocated for one answer. */
  perAnswer: Map<string, number>
}

/**
 * Looks at the service's heap.
 *
 * @param kinds requests of each kind; the first are those that are counted
 * @param count how many requests lie between the two looks
 */
export async function measureHeap(
  database: SeededDatabase,
  load: Load,
  kinds: Map<string, Asked[]>,
  count: number,
): Promise<Heap> {
  const port = await freePort()
  const service = await startService(database, [`--inspect=127.0.0.1:${port}`])
  try {
    const inspector = await attachInspector(port)
    const all = [...kinds.values()].flat()
    const put = async (requests: Asked[], wanted: number) => {
      let done = 0
      while (done < wanted) done += (await load.put(service.origin, requests, done, 2)).requests
      return done
    }
    await put(all, count / 10)
    const before = await liveHeap(inspector)
    const requests = await put([...kinds.values()][0]!, count)
    const after = await liveHeap(inspector)
    const perAnswer = new Map<string, number>()
    for (const [kind, asked] of kinds) {
      let answers = 0
      const bytes = await allocated(inspector, async () => {
        answers = await put(asked, 500)
      })
      perAnswer.set(kind, bytes / answers)
    }
    inspector.close()
    return { before: before / mebibyte, after: after / mebibyte, requests, perAnswer }
  } finally {
    await service.stop()
  }
}
