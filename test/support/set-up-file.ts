/** Vitest runs this for each test file. */
import { afterAll } from 'vitest'
import { cleanUp } from './cleanups.ts'

afterAll(cleanUp)
