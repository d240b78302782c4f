/** Vitest runs this for each test file. */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { cleanUp } from './cleanups.ts'

// A change must pass the same tests each time. `.ci/nightly` draws another seed.
fc.configureGlobal({ seed: Number(process.env.TEST_SEED ?? 1) })

afterAll(cleanUp)
