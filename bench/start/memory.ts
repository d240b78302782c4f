import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/support/free-port.ts'
import type { Load } from '../harness/load.ts'
import type { HttpRequest } from '../harness/operations.ts'
import { type Installation, startService } from '../harness/processes.ts'
import { attachInspector, type Inspector } from './inspector.mjs'

const mebibyte = 1024 * 1024

/** @returns the resident memory of a process, in MiB */
function resident(pid: number): number {
  const [, kilobytes = 'NaN'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

/**
 * @param seconds how long the load lasts, and the rest after it
 * @returns the service's resident memory in MiB: before the load, at most during it, and after the rest
 */
export async function measureResident(
  installation: Installation,
  load: Load,
  requests: HttpRequest[],
  seconds: { load: number; rest: number },
): Promise<{ idle: number; loaded: number; rested: number }> {
  const service = await startService(installation)
  try {
    await sleep(5_000)
    const idle = resident(service.pid)
    let loaded = idle
    const timer = setInterval(() => {
      loaded = Math.max(loaded, resident(service.pid))
    }, 100)
    await load.run(service.origin, requests, 0, { seconds: seconds.load })
    clearInterval(timer)
    await sleep(seconds.rest * 1000)
    return { idle, loaded, rested: resident(service.pid) }
  } finally {
    await service.stop()
  }
}

/** @returns the bytes of the heap that are in use after a full collection */
async function liveHeap(inspector: Inspector): Promise<number> {
  // Objects that wait for a timer or a finalizer are collected by a later one.
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

/** @returns the bytes allocated during some work, by V8's sampling, collected ones included */
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

/** The service's heap, read through Node's inspector. */
export interface Heap {
  /** The heap in use after a full collection, before and after the requests, in MiB. */
  before: number
  after: number
  requests: number
  /** Bytes allocated for one answer, by the call's title. */
  perAnswer: Map<string, number>
}

/**
 * Measures the service's heap.
 *
 * @param calls requests by the call's title; the first are those that are sent between the two measurements
 * @param count how many requests are sent between them
 */
export async function measureHeap(
  installation: Installation,
  load: Load,
  calls: Map<string, HttpRequest[]>,
  count: number,
): Promise<Heap> {
  const port = await freePort()
  const service = await startService(installation, { nodeOptions: [`--inspect=127.0.0.1:${port}`] })
  try {
    const inspector = await attachInspector(port)
    const send = async (requests: HttpRequest[], wanted: number) => {
      let done = 0
      while (done < wanted) done += (await load.run(service.origin, requests, done, { seconds: 2 })).requests
      return done
    }
    await send([...calls.values()].flat(), count / 10)
    const before = await liveHeap(inspector)
    const requests = await send([...calls.values()][0]!, count)
    const after = await liveHeap(inspector)
    const perAnswer = new Map<string, number>()
    for (const [title, sent] of calls) {
      let answers = 0
      const bytes = await allocated(inspector, async () => {
        answers = await send(sent, 500)
      })
      perAnswer.set(title, bytes / answers)
    }
    inspector.close()
    return { before: before / mebibyte, after: after / mebibyte, requests, perAnswer }
  } finally {
    await service.stop()
  }
}
