import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// graphql has two builds, and Vite would take the one that Node does not: two copies of it cannot work together.
const resolve = { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] }

/** They change what other files import: they need modules of their own. */
const alone = ['test/rest/child-policy.test.ts']

const patience = { testTimeout: 30_000, hookTimeout: 60_000 }

export default defineConfig({
  test: {
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    // Tests wait for the database and for time-outs as much as they work: one more than two cores have.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: [
      {
        resolve,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**', ...alone],
          // Files share what they import: to import it anew for each took a third of the time.
          isolate: false,
          ...patience,
        },
      },
      { resolve, test: { name: 'alone', include: alone, ...patience } },
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
