/** Instances of the service that are stopped together and started again. */
import type { FastifyInstance } from 'fastify'
import type { Instance } from '../sync/lists.ts'

/** Starts instances. @param builders build the service; called again after each stop */
export function startInstances(builders: readonly (() => Promise<FastifyInstance>)[]) {
  const start = () => Promise.all(builders.map(build => build()))
  const close = (apps: FastifyInstance[]) => Promise.all(apps.map(app => app.close()))
  let running = start()
  const answers = new Set<Promise<unknown>>()
  return {
    /** Their requests wait while the instances are stopped. */
    instances: builders.map(
      (_, at): Instance => ({
        async inject(request) {
          const apps = await running
          const answer = apps[at]!.inject(request)
          const answered = answer.finally(() => answers.delete(answered))
          answers.add(answered)
          return answered
        },
      }),
    ),

    /** Stops all instances after the requests that they have, and starts them again. @param during runs in between */
    async restart(during: () => Promise<unknown>) {
      running = running.then(async apps => {
        await Promise.allSettled(answers)
        await close(apps)
        await during()
        return start()
      })
      await running
    },

    stop: async () => close(await running),
  }
}
