/** One sync at a time in a directory, also where processes do not see each other. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DirectoryStore } from '../../src/sync/stores/directory.ts'
import { takeLock } from '../../src/sync/stores/lock.ts'
import { createPlace } from '../support/copies.ts'

const { pid: dead } = spawnSync('true')

test('the lock of a process that has ended is taken over by one only', async () => {
  const directory = createPlace()
  const paths = Array.from({ length: 20 }, (_, index) => join(directory, `lock-${index}`))
  for (const path of paths) writeFileSync(path, `${dead} 1`)
  const taken = await Promise.all(
    paths.map(path => Promise.allSettled(Array.from({ length: 4 }, () => takeLock(path)))),
  )
  for (const all of taken) expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test('a lock that is empty is taken over: the disk was full', async () => {
  const path = join(createPlace(), 'lock')
  writeFileSync(path, '')
  await takeLock(path)
  expect(readFileSync(path, 'utf8')).toContain(String(process.pid))
})

test('a sync stops when one in another container has taken its directory over', async () => {
  const path = join(createPlace(), 'copy')
  const store = await DirectoryStore.open(path)
  await store.commit([], new Map())
  const other = '1 4711 of another container'
  writeFileSync(join(path, '.sync', 'lock'), other)
  await expect(store.commit([], new Map())).rejects.toThrow('Another sync has opened this copy')
  await expect(store.publish()).rejects.toThrow('Another sync has opened this copy')
  await store.close()
  expect(readFileSync(join(path, '.sync', 'lock'), 'utf8')).toBe(other)
})
