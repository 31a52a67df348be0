import { Alert, Button, NativeSelect, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useLivePosition } from '../../../common/live/live-context.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type CommandType, commandTypes } from './command-fields.ts';
import { CommandInputs } from './command-inputs.tsx';
import { ConfirmCommand } from './confirm-command.tsx';
import { emptyForm, isCritical, needsConfirmation, parseCommand } from './model.ts';
import { type NewCommand, useSendCommand } from './use-commands.ts';

const hours = [1, 6, 24, 72, 168, 720] as const;

/** Shows the form of every command of the API. Commands that change the vehicle are confirmed before they are sent. */
export function SendForm({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const [type, setType] = useState<CommandType>('text');
  const [form, setForm] = useState(emptyForm('text'));
  const [validHours, setValidHours] = useState('24');
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [pending, setPending] = useState<NewCommand | null>(null);
  const choose = (next: CommandType): void => {
    setType(next);
    setForm(emptyForm(next));
    setFaults({});
  };
  const send = useSendCommand(vehicle.id, () => {
    setPending(null);
    setForm(emptyForm(type));
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const parsed = parseCommand(type, form);
    setFaults('faults' in parsed ? parsed.faults : {});
    if ('faults' in parsed) return;
    const command = { type, params: parsed.params, ttl_seconds: Number(validHours) * 3_600 };
    if (needsConfirmation(type)) setPending(command);
    else send.mutate(command);
  };
  const offered = commandTypes.filter((name) => name !== 'raw' || can('criticalCommands'));
  return (
    <section className="card" aria-label={t('commands.new')}>
      <h2>{t('commands.new')}</h2>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          <Reachability vehicle={vehicle} />
          <NativeSelect
            label={t('commands.type')}
            data={offered.map((value) => ({ value, label: t(`command.${value}`) }))}
            value={type}
            onChange={({ currentTarget }) => choose(currentTarget.value as CommandType)}
          />
          <CommandInputs type={type} form={form} faults={faults} onChange={setForm} />
          <NativeSelect
            label={t('commands.validFor')}
            data={hours.map((value) => ({ value: String(value), label: t('commands.hours', { count: value }) }))}
            value={validHours}
            onChange={({ currentTarget }) => setValidHours(currentTarget.value)}
          />
          {send.isError && pending === null ? <Failure error={send.error} /> : null}
          <Button type="submit" loading={send.isPending && pending === null}>
            {t('commands.send')}
          </Button>
        </Stack>
      </form>
      {pending === null ? null : (
        <ConfirmCommand
          vehicleNo={vehicle.vehicle_no}
          command={pending}
          isCritical={isCritical(pending.type, pending.params)}
          send={send}
          onClose={() => setPending(null)}
        />
      )}
    </section>
  );
}

/** Says when a command will be sent to a terminal that is not connected. */
function Reachability({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const state = useLivePosition(vehicle.id)?.state ?? vehicle.state;
  if (state !== 'offline' && state !== 'never_connected') return null;
  return (
    <Alert color="action" variant="outline">
      {t('commands.queuedHint')}
    </Alert>
  );
}
