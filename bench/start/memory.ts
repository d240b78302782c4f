import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/support/free-port.ts'
import { residentMemory } from '../harness/cpu-time.ts'
import type { Load } from '../harness/load.ts'
import type { HttpRequest } from '../harness/operations.ts'
import { type Installation, startService } from '../harness/processes.ts'
import { attachInspector, type Inspector } from './inspector.ts'

const mebibyte = 1024 * 1024

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
    const idle = residentMemory(service.pid)
    let loaded = idle
    const timer = setInterval(() => {
      loaded = Math.max(loaded, residentMemory(service.pid))
    }, 100)
    await load.run(service.origin, requests, 0, { seconds: seconds.load })
    clearInterval(timer)
    await sleep(seconds.rest * 1000)
    return { idle, loaded, rested: residentMemory(service.pid) }
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
 * @param calls requests by the call's title
 * @param count how many requests are sent between the two measurements
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
    const all = [...calls.values()].flat()
    const send = (requests: HttpRequest[], wanted: number) => load.run(service.origin, requests, 0, { count: wanted })
    await send(all, count / 10)
    const before = await liveHeap(inspector)
    await send(all, count)
    const after = await liveHeap(inspector)
    const perAnswer = new Map<string, number>()
    const answers = 2_000
    for (const [title, sent] of calls) {
      perAnswer.set(title, (await allocated(inspector, () => send(sent, answers))) / answers)
    }
    inspector.close()
    return { before: before / mebibyte, after: after / mebibyte, requests: count, perAnswer }
  } finally {
    await service.stop()
  }
}
