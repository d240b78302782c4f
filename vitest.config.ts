import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// graphql has two builds and Vite would choose another one than Node: two copies in one process do not work.
const resolve = { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] }

/** Test files that change shared modules, and so need their own module instances. */
const isolated = ['test/rest/child-policy.test.ts']

const timeouts = { testTimeout: 30_000, hookTimeout: 60_000 }

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    // Tests wait for the database and for timeouts about half of the time: three workers use two cores best.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: [
      {
        resolve,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**', ...isolated],
          // Test files share modules: importing them for each file took a third of the time.
          isolate: false,
          ...timeouts,
        },
      },
      { resolve, test: { name: 'isolated', include: isolated, ...timeouts } },
      {
        resolve,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
