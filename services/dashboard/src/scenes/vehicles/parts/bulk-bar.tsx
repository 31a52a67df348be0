import { Button, Group, Modal, NativeSelect, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useGroups } from '../../../common/fleet/queries.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { createIdempotencyKey } from '../../../common/forms/idempotency-key.ts';
import { isTypedName, TypedName } from '../../../common/forms/typed-name.tsx';
import { useCan, useSession } from '../../../common/session/session-context.ts';
import { ShareForm } from '../../../common/sharing/share-form.tsx';
import { useBulk } from './use-bulk.ts';

type Action = 'group' | 'text' | 'share' | 'delete';

/** Offers the actions for the selected vehicles. */
export function BulkBar({ vehicles, onDone }: { vehicles: readonly Vehicle[]; onDone: () => void }) {
  const { t } = useTranslation('vehicles');
  const can = useCan();
  const [action, setAction] = useState<Action | null>(null);
  const actions = (['group', 'share', 'text', 'delete'] as const).filter(
    (name) => (name !== 'share' || can('sharing')) && (name !== 'text' || can('commands')),
  );
  const close = (): void => setAction(null);
  const finish = (): void => {
    close();
    onDone();
  };
  return (
    <Group className="bulk-bar" gap="sm" mt="sm" role="region" aria-label={t('bulk.label')}>
      <Text>{t('bulk.selected', { count: vehicles.length })}</Text>
      {actions.map((name) => (
        <Button
          key={name}
          size="compact-sm"
          variant={name === 'delete' ? 'outline' : 'default'}
          color={name === 'delete' ? 'critical' : 'action'}
          onClick={() => setAction(name)}
        >
          {t(`bulk.${name}`)}
        </Button>
      ))}
      {action === null ? null : (
        <Modal
          opened
          onClose={close}
          title={t(`bulk.${action}`)}
          closeButtonProps={{ 'aria-label': t('common:action.close') }}
        >
          {action === 'share' ? (
            <ShareForm vehicleIds={vehicles.map(({ id }) => id)} onShared={finish} />
          ) : (
            <BulkForm action={action} vehicles={vehicles} onDone={finish} />
          )}
        </Modal>
      )}
    </Group>
  );
}

interface BulkFormProps {
  readonly action: Exclude<Action, 'share'>;
  readonly vehicles: readonly Vehicle[];
  readonly onDone: () => void;
}

function BulkForm({ action, vehicles, onDone }: BulkFormProps) {
  const { t } = useTranslation('vehicles');
  const { api } = useSession();
  const { data: groups = [] } = useGroups();
  const [value, setValue] = useState('');
  const { state, run } = useBulk();
  const groupId = Number(value === '' ? groups[0]?.id : value);
  const request = (vehicle: Vehicle): Promise<unknown> => {
    const path = { vehicleId: vehicle.id };
    if (action === 'delete') return api.DELETE('/api/vehicles/{vehicleId}', { params: { path } });
    if (action === 'group') {
      const body = { group_ids: [...new Set([...vehicle.group_ids, groupId])] };
      return api.PUT('/api/vehicles/{vehicleId}', { params: { path }, body });
    }
    const params = { path, header: { 'Idempotency-Key': createIdempotencyKey() } };
    return api.POST('/api/vehicles/{vehicleId}/commands', { params, body: { type: 'text', params: { text: value } } });
  };
  const start = async (): Promise<void> => {
    if (await run(vehicles, request)) onDone();
  };
  const countText = String(vehicles.length);
  const isReady =
    action === 'delete' ? isTypedName(countText, value) : action === 'group' ? groups.length > 0 : value.trim() !== '';
  return (
    <Stack gap="sm">
      {action === 'group' ? (
        <NativeSelect
          label={t('column.groups')}
          data={groups.map(({ id, name }) => ({ value: String(id), label: name }))}
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
        />
      ) : null}
      {action === 'text' ? (
        <Textarea
          label={t('bulk.textLabel')}
          maxLength={1024}
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
        />
      ) : null}
      {action === 'delete' ? (
        <>
          <Text>{t('bulk.deleteText', { numbers: vehicles.map((vehicle) => vehicle.vehicle_no).join(', ') })}</Text>
          <TypedName name={countText} value={value} onChange={setValue} />
        </>
      ) : null}
      {state === null ? null : (
        <div role="status">
          <Text>{t('bulk.progress', { done: state.done, total: state.total })}</Text>
          {state.failures.map((failure) => (
            <Text key={failure} c="critical">
              {failure}
            </Text>
          ))}
        </div>
      )}
      <Button
        disabled={!isReady}
        loading={state?.isRunning === true}
        color={action === 'delete' ? 'critical' : 'action'}
        onClick={() => void start()}
      >
        {t(`bulk.${action}`)}
      </Button>
    </Stack>
  );
}
