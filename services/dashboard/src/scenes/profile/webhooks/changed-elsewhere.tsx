import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../../common/fleet/queries.ts';
import { RecordConflict } from '../../../common/forms/record-conflict.tsx';
import { type ComparedWebhook, comparedFields, findChangedFields } from './compare.ts';
import { useNotificationTypes } from './queries.ts';

interface ChangedElsewhereProps {
  /** The webhook as the form loaded it. */
  readonly base: ComparedWebhook;
  readonly mine: ComparedWebhook;
  /** The webhook as it is stored now. */
  readonly theirs: ComparedWebhook;
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

const labels = {
  url: 'webhooks.url',
  name: 'webhooks.name',
  notification_types: 'webhooks.events',
  vehicle_ids: 'webhooks.vehicles',
  headers: 'webhooks.headers',
  enabled: 'webhooks.enabled',
} as const satisfies Record<(typeof comparedFields)[number], string>;

/** Says that another window or user has saved the webhook, with both versions of each field. */
export function ChangedElsewhere({ base, mine, theirs, ...actions }: ChangedElsewhereProps) {
  const { t } = useTranslation('profile');
  const { data: types = [] } = useNotificationTypes();
  const { data: vehicles = [] } = useVehicles();
  const join = (names: readonly string[]): string => (names.length === 0 ? t('webhooks.all') : names.join(', '));
  const show = (webhook: ComparedWebhook): Record<(typeof comparedFields)[number], string> => ({
    url: webhook.url,
    name: webhook.name ?? '–',
    notification_types: join(
      webhook.notification_types.map((name) => types.find(({ type }) => type === name)?.title ?? name),
    ),
    vehicle_ids: join(
      webhook.vehicle_ids.map((id) => vehicles.find((vehicle) => vehicle.id === id)?.vehicle_no ?? String(id)),
    ),
    headers: Object.keys(webhook.headers).join(', ') || '–',
    enabled: t(webhook.enabled ? 'webhooks.yes' : 'webhooks.no'),
  });
  const changed = new Set([...findChangedFields(base, mine), ...findChangedFields(base, theirs)]);
  const rows = comparedFields
    .filter((field) => changed.has(field))
    .map((field) => ({ label: t(labels[field]), mine: show(mine)[field], theirs: show(theirs)[field] }));
  return <RecordConflict rows={rows} {...actions} />;
}
