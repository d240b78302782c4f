/** Only one sync at a time uses a directory, even when processes do not see each other. */
import { spawnSync } from 'node:child_process'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DirectoryStore } from '../../packages/sync/src/stores/directory.ts'
import { takeLock } from '../../packages/sync/src/stores/lock.ts'
import { createDirectory } from '../support/directory.ts'

/** Returns the text of a lock whose process, on this machine, has ended. */
async function readEndedLock(): Promise<string> {
  const path = join(createDirectory(), 'lock')
  const lock = await takeLock(path)
  const text = readFileSync(path, 'utf8')
  await lock.release()
  return text.replace(` ${process.pid} `, ` ${spawnSync('true').pid} `)
}

test('only one process takes over the lock of a process that has ended', async () => {
  const directory = createDirectory()
  const paths = Array.from({ length: 20 }, (_, index) => join(directory, `lock-${index}`))
  const dead = await readEndedLock()
  for (const path of paths) writeFileSync(path, dead)
  const taken = await Promise.all(paths.map(path => Promise.allSettled([1, 2, 3, 4].map(() => takeLock(path)))))
  for (const all of taken) expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test('the lock of a process in another container is taken over when it was not renewed for a minute', async () => {
  const path = join(createDirectory(), 'lock')
  writeFileSync(path, `boot/pid:[2] 1 4711 other`)
  await expect(takeLock(path)).rejects.toMatchObject({ exitCode: 6 })
  const minuteAgo = new Date(Date.now() - 61_000)
  utimesSync(path, minuteAgo, minuteAgo)
  await (await takeLock(path)).release()
})

test('an empty lock, which a full disk leaves, is taken over', async () => {
  const path = join(createDirectory(), 'lock')
  writeFileSync(path, '')
  await takeLock(path)
  expect(readFileSync(path, 'utf8')).toContain(String(process.pid))
})

test('a sync stops when a sync in another container has taken over its directory', async () => {
  const path = join(createDirectory(), 'copy')
  const store = await DirectoryStore.open(path)
  await store.commit([], new Map())
  const other = '1 4711 of another container'
  writeFileSync(join(path, '.sync', 'lock'), other)
  await expect(store.commit([], new Map())).rejects.toThrow('Another sync has opened this copy')
  await expect(store.publish()).rejects.toThrow('Another sync has opened this copy')
  await store.close()
  expect(readFileSync(join(path, '.sync', 'lock'), 'utf8')).toBe(other)
})
