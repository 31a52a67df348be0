import { Button, Group, SegmentedControl } from '@mantine/core';
import { type FormEvent, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../forms/faults.ts';
import { useLeaveWarning } from '../forms/use-leave-warning.ts';
import { type ShapeKind, shapeKinds } from '../map/shapes.ts';
import type { ShapeState } from '../places/use-shape.ts';
import { Failure } from '../ui/states.tsx';
import { emptyForm } from './model.ts';
import { useSaveGeofence } from './queries.ts';
import { RecordFields } from './record-fields.tsx';
import { ShapeSection } from './shape-section.tsx';
import { useGeofenceForm } from './use-geofence-form.ts';

interface NewGeofenceProps {
  readonly kind: ShapeKind;
  readonly editing: ShapeState;
  readonly onKind: (kind: ShapeKind) => void;
  readonly onCreated: (id: number) => void;
  readonly onCancel: () => void;
}

/** Draws and creates a geofence. */
export function NewGeofence({ kind, editing, onKind, onCreated, onCancel }: NewGeofenceProps) {
  const { t } = useTranslation('geofences');
  const { form, check, showFailure } = useGeofenceForm('createGeofence', emptyForm);
  const { save } = useSaveGeofence(null, ({ id }) => onCreated(id));
  const { actions, shape } = editing;
  useEffect(() => {
    actions.draw(kind);
    return () => actions.set(null);
  }, [actions, kind]);
  useLeaveWarning(shape !== null && !save.isPending && !save.isSuccess);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const body = check({}, shape);
    if (body !== null) save.mutate({ body, version: 0 }, { onError: showFailure });
  };
  const hasFieldFault = Object.keys(toFieldErrors(save.error)).length > 0;
  return (
    <form onSubmit={submit} aria-label={t('add')} noValidate className="places-form">
      <h2>{t('add')}</h2>
      <SegmentedControl
        aria-label={t('kindLabel')}
        data={shapeKinds.map((value) => ({ value, label: t(`kind.${value}`) }))}
        value={kind}
        onChange={(value) => onKind(value)}
      />
      <ShapeSection kind={kind} editing={editing} errors={form.errors} />
      <RecordFields form={form} />
      {save.isError && !hasFieldFault ? <Failure error={save.error} /> : null}
      <Group gap="sm">
        <Button type="submit" loading={save.isPending}>
          {t('common:action.save')}
        </Button>
        <Button variant="default" onClick={onCancel}>
          {t('common:action.cancel')}
        </Button>
      </Group>
    </form>
  );
}
