/** A Node process that was started with --inspect, seen through its debugger's protocol. */
export interface Inspector {
  /** Calls a method of the protocol. */
  call(method: string, parameters?: object): Promise<Record<string, unknown>>
  close(): void
}

/** @param port where the process waits for a debugger, on this machine */
export function attachInspector(port: number): Promise<Inspector>
