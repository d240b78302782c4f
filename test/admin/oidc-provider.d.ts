/** Types for the part of the package that the tests use, because the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scopes: string): void
    save(): Promise<string>
  }

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    Grant: new (properties: {
      clientId: string
      accountId: string
    }) => Grant
    use(
      middleware: (
        context: { path: string; status: number; get body(): Record<string, unknown>; set body(value: unknown) },
        next: () => Promise<void>,
      ) => Promise<void>,
    ): void
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: { login: { accountId: string } } | { error: string; error_description: string },
    ): Promise<void>
  }
}
