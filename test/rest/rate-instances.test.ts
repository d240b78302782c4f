/** Instances that count the rate in the database. `test/faults/instances.test.ts` does the same with processes. */
import { testInstances } from './rate-instances.ts'
import { createWorld } from './support.ts'

await testInstances(await createWorld(), {})
