import type { Config } from '../config.ts'
import { adminPath, dashboardPath, docsPath, graphiqlPath } from './paths.ts'

/** The settings that the header of all pages depends on. */
export interface Site {
  graphiql: boolean
  /** The address of the API access page: with `PUBLIC_URL` it works only under that origin. */
  adminAddress: string
  /** True when the service is the demo, which signs in browsers on its own machine. */
  isDemo: boolean
}

/** Returns what the header of all pages shows with this configuration. */
export const describeSite = ({ graphiql, publicUrl }: Config, isDemo: boolean): Site => ({
  graphiql,
  adminAddress: `${publicUrl ?? ''}${adminPath}`,
  isDemo,
})

/** A place of the service that people open, as the header names it. */
export interface Place {
  name: 'Dashboard' | 'GraphiQL' | 'Docs' | 'API access'
  address: string
}

/** Returns the places that are served, in the order of the header. */
export const placesOf = ({ graphiql, adminAddress }: Site): Place[] => [
  { name: 'Dashboard', address: dashboardPath },
  ...(graphiql ? [{ name: 'GraphiQL', address: graphiqlPath } as const] : []),
  { name: 'Docs', address: docsPath },
  { name: 'API access', address: adminAddress },
]
