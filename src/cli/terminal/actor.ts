import { userInfo } from 'node:os'
import type { Actor } from '../../domain/administrator/audit.ts'

/** Returns the actor of audit entries that a command makes: the user of this machine. */
export function commandLineActor(): Actor {
  return { name: `command line (${userName()})`, address: null }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // The user id of a container's process may have no user name.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
