/** Writes the alerts for the Prometheus Operator. */

/** Returns the manifest of a PrometheusRule. @param alerts the text of `deploy/alerts.yaml` */
export function toPrometheusRule(alerts: string): string {
  const groups = alerts.slice(alerts.indexOf('groups:')).replaceAll(/^(?=.)/gm, '  ')
  return `# The alerts of deploy/alerts.yaml. npm run generate writes this file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: voucher-gateway
  labels: { app.kubernetes.io/name: voucher-gateway }
spec:
${groups}`
}
