import { defineConfig } from 'vitest/config'

// graphql has two builds, and Vite would take the one that Node does not: two copies of it cannot work together.
const resolve = { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] }

export default defineConfig({
  test: {
    projects: [
      {
        resolve,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**'],
          globalSetup: 'test/support/global-setup.ts',
          pool: 'forks',
          // Tests wait for the database as much as they work: by default one core would be left to nobody.
          maxWorkers: '100%',
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
          pool: 'forks',
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
