import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../index.ts'
import { create, showCreate } from './create.tsx'
import { showToken } from './detail.tsx'
import { edit, showEdit } from './edit.tsx'
import { showTokens } from './list.tsx'
import type { TokenRequest } from './parts.tsx'
import { revoke, showRevoke } from './revoke.tsx'
import { rotate, showRotate } from './rotate.tsx'

type ById = { Params: TokenRequest['params'] }

/** The pages of the tokens, below /admin. */
export function registerTokenPages(scope: FastifyInstance, parts: AdminContext): void {
  scope.get('/tokens', (request, reply) => showTokens(parts, request, reply))
  scope.get('/tokens/new', (request, reply) => showCreate(parts, request, reply))
  scope.post('/tokens/new', (request, reply) => create(parts, request, reply))
  scope.get<ById>('/tokens/:id', (request, reply) => showToken(parts, request, reply))
  scope.get<ById>('/tokens/:id/edit', (request, reply) => showEdit(parts, request, reply))
  scope.post<ById>('/tokens/:id/edit', (request, reply) => edit(parts, request, reply))
  scope.get<ById>('/tokens/:id/rotate', (request, reply) => showRotate(parts, request, reply))
  scope.post<ById>('/tokens/:id/rotate', (request, reply) => rotate(parts, request, reply))
  scope.get<ById>('/tokens/:id/revoke', (request, reply) => showRevoke(parts, request, reply))
  scope.post<ById>('/tokens/:id/revoke', (request, reply) => revoke(parts, request, reply))
}
