import { Button, Group, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../forms/faults.ts';
import { useFormErrors } from '../forms/use-form-errors.ts';
import { useLeaveWarning } from '../forms/use-leave-warning.ts';
import type { Shape } from '../map/shapes.ts';
import type { PlaceMark } from '../map/use-place-layers.ts';
import type { ShapeState } from '../places/use-shape.ts';
import { Failure } from '../ui/states.tsx';
import { alignStops, type Route, type RouteForm, toBody, toChange, toForm, toShape } from './model.ts';
import { PathSection } from './path-section.tsx';
import type { Preview } from './preview.ts';
import { useSaveRoute } from './queries.ts';
import { RouteConflict } from './route-conflict.tsx';
import { RouteFields } from './route-fields.tsx';
import { WaypointSection } from './waypoint-section.tsx';

interface RouteFormPanelProps {
  /** Null for a new route. */
  readonly route: Route | null;
  readonly values: RouteForm;
  /** Marks beside the path, such as toll gates. */
  readonly marks: readonly PlaceMark[];
  readonly editing: ShapeState;
  readonly onPreview: (preview: Preview | null) => void;
  readonly onSaved: (route: Route) => void;
  /** Buttons beside Save. */
  readonly children: ReactNode;
}

/** The form of a route. Its waypoints are a line on the map; its path is displayed there. */
export function RouteFormPanel({ route, values, marks, editing, onPreview, onSaved, children }: RouteFormPanelProps) {
  const { t } = useTranslation('routes');
  const { form, base, body, isChanged, isSaved, saving, send, load } = useEditedRoute(route, values, editing, onSaved);
  const { save, stored, discard } = saving;
  const { path, color } = form.values;
  const markKey = JSON.stringify(marks);
  useEffect(() => onPreview({ path, color, marks }), [onPreview, path, color, markKey]);
  useEffect(() => () => onPreview(null), [onPreview]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send(route?.version ?? 0);
  };
  const hasFieldFault = Object.keys(toFieldErrors(save.error)).length > 0;
  return (
    <form onSubmit={submit} aria-label={t('record')} noValidate className="places-form">
      <WaypointSection form={form} editing={editing} />
      <PathSection form={form} shape={editing.shape} />
      <RouteFields form={form} />
      {stored === null && save.isError && !hasFieldFault ? <Failure error={save.error} /> : null}
      {stored === null ? null : (
        <RouteConflict
          base={base}
          mine={body}
          stored={stored}
          isSaving={save.isPending}
          onKeepMine={() => send(stored.version)}
          onTakeTheirs={() => {
            load(stored);
            onSaved(stored);
            discard();
          }}
        />
      )}
      <Group gap="sm" className="places-buttons">
        <Button type="submit" disabled={route !== null && !isChanged} loading={save.isPending}>
          {t('common:action.save')}
        </Button>
        {children}
        {isSaved && !isChanged ? <Text role="status">{t('common:form.saved')}</Text> : null}
      </Group>
    </form>
  );
}

/** Returns the form of a route, whose waypoints are on the map, with what saves it. */
function useEditedRoute(
  route: Route | null,
  values: RouteForm,
  { actions, shape }: ShapeState,
  onSaved: (route: Route) => void,
) {
  const { t } = useTranslation('routes');
  const [isSaved, setIsSaved] = useState(false);
  const form = useForm<RouteForm>({ initialValues: values });
  const findErrors = useFormErrors(route === null ? 'createRoute' : 'updateRoute');
  const align = useAlignedStops(shape, route === null ? null : toShape(route).positions, (before, after) => {
    form.setFieldValue('stops', alignStops(before, after, form.values.stops));
    // Other waypoints need another path.
    form.setFieldValue('path', null);
  });
  const load = (record: Route): void => {
    form.setValues(toForm(record));
    align(toShape(record));
    actions.set(toShape(record));
  };
  const saving = useSaveRoute(route?.id ?? null, (record) => {
    load(record);
    setIsSaved(true);
    onSaved(record);
  });
  const { save } = saving;
  const base = route === null ? {} : toBody(toForm(route), toShape(route));
  const body = toBody(form.values, shape ?? (route === null ? null : toShape(route)));
  const isChanged = route === null ? shape !== null : Object.keys(toChange(base, body)).length > 0;
  useLeaveWarning(isChanged && !save.isPending && !(route === null && save.isSuccess));
  const showErrors = (errors: Readonly<Record<string, string>>): void => {
    form.setErrors(errors);
    const [first] = Object.keys(errors);
    if (first !== undefined) form.getInputNode(first)?.focus();
  };
  const send = (version: number): void => {
    setIsSaved(false);
    const change = toChange(base, body);
    const errors = { ...findErrors(change), ...(shape === null ? { waypoints: t('noWaypoints') } : {}) };
    showErrors(errors);
    if (Object.keys(errors).length > 0) return;
    save.mutate({ body: change, version }, { onError: (error) => showErrors(toFieldErrors(error)) });
  };
  return { form, base, body, isChanged, isSaved, saving, send, load };
}

/** Calls the listener when the waypoints change on the map. Returns a function for a shape that is already aligned. */
function useAlignedStops(
  shape: Shape | null,
  stored: Shape['positions'] | null,
  onChange: (before: Shape['positions'], after: Shape['positions']) => void,
): (shape: Shape) => void {
  const known = useRef(stored);
  const newest = useRef(onChange);
  newest.current = onChange;
  const positions = shape?.positions ?? null;
  useEffect(() => {
    if (positions === null || JSON.stringify(positions) === JSON.stringify(known.current)) return;
    const before = known.current;
    known.current = positions;
    newest.current(before ?? [], positions);
  }, [positions]);
  return (aligned) => {
    known.current = aligned.positions;
  };
}
