/**
 * Returns the remedy, as a sentence, when an environment variable names a proxy that Node's `fetch` does not use;
 * otherwise an empty text.
 */
export function describeUnusedProxy(): string {
  const { env, allowedNodeEnvironmentFlags } = process
  const name = Object.keys(env).find(key => /^(https?|all)_proxy$/i.test(key) && env[key])
  const isUsed = env.NODE_USE_ENV_PROXY === '1' && allowedNodeEnvironmentFlags.has('--use-env-proxy')
  if (name === undefined || isUsed) return ''
  return `${name} is not used: set HTTPS_PROXY and NODE_USE_ENV_PROXY=1, with Node 22.21 or 24.5 and later.`
}
