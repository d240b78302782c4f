import { userInfo } from 'node:os'
import type { Actor } from '../domain/audit.ts'

/** @returns who acts when a command does: whoever is logged in to this machine */
export function commandLine(): Actor {
  return { name: `command line (${userName()})`, address: null }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container's user need not have a name.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
