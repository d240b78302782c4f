import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import { defaultFieldResolver, type GraphQLFieldResolver } from 'graphql'
import { lacksPermission } from '../domain/errors.ts'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import type { Permission } from '../domain/permission.ts'
import type { Context } from './context.ts'
import { markDirect } from './direct-resolver.ts'
import { spendOperations } from './rate.ts'

/** What a field requires of its caller, checked in R1's order before the field's own resolver. */
export interface Policy {
  /** How many v1 operations the field performs (R28). */
  operations?: (args: Record<string, unknown>) => number
  /** The numeric id of the tenant that an argument names; the token must be authorised for it (R19). */
  tenant?: (args: Record<string, unknown>) => number
  /** The permissions that the token must have, all of them. */
  permissions?: readonly Permission[]
}

export const policyPlugin = 'policy'

/** Counts a field as one v1 operation. */
export const oneOperation = () => 1

/** @throws `FORBIDDEN` with the first permission that the token lacks */
export function requirePermissions({ caller }: Context, permissions: readonly Permission[]): void {
  const lacking = permissions.find(permission => !caller.token.permissions.includes(permission))
  if (lacking) throw lacksPermission(lacking)
}

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** The options that the builder was given for the field. */
    pothosOptions?: { policy?: Policy }
  }
}

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      policy: PolicyPlugin<Types>
    }
    interface FieldOptions<
      Types extends SchemaTypes,
      ParentShape,
      Type,
      Nullable,
      Args,
      ResolveShape,
      ResolveReturnShape,
    > {
      /** What the field requires of its caller. */
      policy?: Policy
    }
  }
}

class PolicyPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const policy = field.pothosOptions.policy
    if (!policy) {
      const { pothosExposedField: exposed, pothosOriginalResolve: original } = field.extensions ?? {}
      // A resolver that another plugin has wrapped or replaced is not the one that exposes the property.
      const isExposed = typeof exposed === 'string' && resolver === original && resolver !== defaultFieldResolver
      markDirect(resolver, isExposed ? exposed : null)
      return resolver
    }
    const { operations, tenant, permissions = [] } = policy
    const guarded: GraphQLFieldResolver<unknown, Context, Record<string, unknown>> = (parent, args, context, info) => {
      const resolve = () => {
        requirePermissions(context, permissions)
        return resolver(parent, args, context, info)
      }
      const requireTenant = () => tenant && context.scope.require(context.caller.token, tenant(args))
      const spending = spendOperations(context, info, operations?.(args) ?? 0)
      return mapMaybePromise(spending ? spending.then(requireTenant) : requireTenant(), resolve)
    }
    return guarded as GraphQLFieldResolver<unknown, Types['Context'], object>
  }
}

SchemaBuilder.registerPlugin(policyPlugin, PolicyPlugin)
