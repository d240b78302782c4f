import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { create, showCreate } from './create.tsx'
import { showToken } from './detail.tsx'
import { edit, showEdit } from './edit.tsx'
import { showTokens } from './list.tsx'
import { revoke, showRevoke } from './revoke.tsx'
import { rotate, showRotate } from './rotate.tsx'

/** Registers the pages of the tokens. */
export function registerTokens(scope: FastifyInstance, context: AdminContext): void {
  scope.get('/tokens', showTokens(context))
  scope.get('/tokens/new', showCreate(context))
  scope.post('/tokens/new', create(context))
  scope.get('/tokens/:id', showToken(context))
  scope.get('/tokens/:id/edit', showEdit(context))
  scope.post('/tokens/:id/edit', edit(context))
  scope.get('/tokens/:id/rotate', showRotate(context))
  scope.post('/tokens/:id/rotate', rotate(context))
  scope.get('/tokens/:id/revoke', showRevoke(context))
  scope.post('/tokens/:id/revoke', revoke(context))
}
