/** Instances that count the rate in PostgreSQL. `test/faults/instances.test.ts` does the same with processes. */
import { testInstances } from './rate-instances.ts'
import { createWorld } from './support.ts'

await testInstances(await createWorld(), { RATE_STORE: 'postgres' })
