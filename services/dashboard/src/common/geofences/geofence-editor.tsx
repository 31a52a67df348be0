import { ApiFailure } from '@fleet/api-client';
import { Button, Group, Text } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../forms/faults.ts';
import { useLeaveWarning } from '../forms/use-leave-warning.ts';
import { PlaceEvents } from '../places/place-events.tsx';
import type { ShapeState } from '../places/use-shape.ts';
import { useCan } from '../session/session-context.ts';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { DeleteGeofence } from './delete-geofence.tsx';
import { GeofenceConflict } from './geofence-conflict.tsx';
import { GeofenceFacts } from './geofence-facts.tsx';
import { type Geofence, toBody, toForm, toShape } from './model.ts';
import { useGeofence, useSaveGeofence } from './queries.ts';
import { RecordFields } from './record-fields.tsx';
import { ShapeSection } from './shape-section.tsx';
import { TerminalSync } from './terminal-sync.tsx';
import { useGeofenceForm } from './use-geofence-form.ts';

interface GeofenceEditorProps {
  readonly id: number;
  readonly editing: ShapeState;
  readonly onClose: () => void;
}

/** Shows one geofence: its form for users who may change it, else its facts; terminals and events. */
export function GeofenceEditor({ id, editing, onClose }: GeofenceEditorProps) {
  const { t } = useTranslation('geofences');
  const can = useCan();
  const geofence = useGeofence(id);
  const back = (
    <Button variant="default" size="xs" onClick={onClose}>
      {t('back')}
    </Button>
  );
  if (geofence.isPending) return <Loading />;
  if (geofence.isError) {
    if (geofence.error instanceof ApiFailure && geofence.error.status === 404)
      return <Empty title={t('missing')}>{back}</Empty>;
    return <Failure error={geofence.error} onRetry={() => void geofence.refetch()} />;
  }
  return (
    <>
      <Group justify="space-between" wrap="nowrap" className="places-head">
        <h2>{geofence.data.name}</h2>
        {back}
      </Group>
      <GeofenceFacts geofence={geofence.data} isDetailed={!can('fleet')} />
      {can('fleet') ? <GeofenceFormPanel geofence={geofence.data} editing={editing} onClose={onClose} /> : null}
      <TerminalSync geofence={geofence.data} />
      <section aria-label={t('crossings')}>
        <h3>{t('crossings')}</h3>
        <PlaceEvents types="geofence" attribute="geofence_id" id={id} />
      </section>
    </>
  );
}

interface FormPanelProps {
  readonly geofence: Geofence;
  readonly editing: ShapeState;
  readonly onClose: () => void;
}

function GeofenceFormPanel({ geofence, editing, onClose }: FormPanelProps) {
  const { t } = useTranslation('geofences');
  const { form, base, body, isChanged, isSaved, saving, saveOver, load } = useEditedGeofence(geofence, editing);
  const { save, stored, discard } = saving;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    saveOver(base.version);
  };
  return (
    <form onSubmit={submit} aria-label={t('record')} noValidate className="places-form">
      <ShapeSection kind={base.type} editing={editing} errors={form.errors} />
      <RecordFields form={form} />
      {stored === null ? (
        <SaveFailure error={save.error} />
      ) : (
        <GeofenceConflict
          base={body}
          mine={toBody(form.values, editing.shape)}
          stored={stored}
          isSaving={save.isPending}
          onKeepMine={() => saveOver(stored.version)}
          onTakeTheirs={() => {
            load(stored);
            discard();
          }}
        />
      )}
      <Group gap="sm" className="places-buttons">
        <Button type="submit" disabled={!isChanged} loading={save.isPending}>
          {t('common:action.save')}
        </Button>
        <DeleteGeofence geofence={base} onDeleted={onClose} />
        {isSaved && !isChanged ? <Text role="status">{t('common:form.saved')}</Text> : null}
      </Group>
    </form>
  );
}

/** Returns the form of a stored geofence, whose shape is on the map, with what saves it. */
function useEditedGeofence(geofence: Geofence, editing: ShapeState) {
  const [base, setBase] = useState(geofence);
  const [isSaved, setIsSaved] = useState(false);
  const { form, check, showFailure } = useGeofenceForm('updateGeofence', toForm(geofence));
  const { actions, shape } = editing;
  const load = (record: Geofence): void => {
    setBase(record);
    form.setValues(toForm(record));
    actions.set(toShape(record));
  };
  const saving = useSaveGeofence(base.id, (record) => {
    load(record);
    setIsSaved(true);
  });
  useEffect(() => {
    actions.set(toShape(base));
    return () => actions.set(null);
    // A later version of the record replaces the shape in `load`.
  }, [actions]);
  const baseBody = toBody(toForm(base), toShape(base));
  const isChanged = JSON.stringify(baseBody) !== JSON.stringify(toBody(form.values, shape ?? toShape(base)));
  useLeaveWarning(isChanged && !saving.save.isPending);
  const saveOver = (version: number): void => {
    setIsSaved(false);
    const body = check(baseBody, shape);
    if (body !== null) saving.save.mutate({ body, version }, { onError: showFailure });
  };
  return { form, base, body: baseBody, isChanged, isSaved, saving, saveOver, load };
}

/** Shows a failure that belongs to no field. */
function SaveFailure({ error }: { error: Error | null }) {
  return error === null || Object.keys(toFieldErrors(error)).length > 0 ? null : <Failure error={error} />;
}
