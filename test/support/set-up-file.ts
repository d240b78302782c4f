/** Vitest runs this for each test file. */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { cleanUp } from './cleanups.ts'

// The seed is fixed, so that the same code always gets the same tests. `.ci/nightly` draws another seed.
fc.configureGlobal({ seed: Number(process.env.TEST_SEED ?? 1) })

afterAll(cleanUp)
