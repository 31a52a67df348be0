import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../forms/faults.ts';
import { useFormErrors } from '../forms/use-form-errors.ts';
import type { Shape } from '../map/shapes.ts';
import { type GeofenceForm, toBody, toChange } from './model.ts';

/** Names of fields of the form that differ from those of the body. */
const toFormErrors = ({ dwell_seconds: dwell, ...errors }: Readonly<Record<string, string>>) =>
  dwell === undefined ? errors : { ...errors, dwell_minutes: dwell };

/** Returns the form of a geofence, and a function that returns a checked body; null marks the faults. */
export function useGeofenceForm(operation: 'createGeofence' | 'updateGeofence', values: GeofenceForm) {
  const { t } = useTranslation('geofences');
  const form = useForm<GeofenceForm>({ initialValues: values });
  const findErrors = useFormErrors(operation);
  const setErrors = (errors: Readonly<Record<string, string>>): boolean => {
    form.setErrors(toFormErrors(errors));
    const [first] = Object.keys(errors);
    if (first !== undefined) form.getInputNode(first)?.focus();
    return first === undefined;
  };
  const check = (base: Readonly<Record<string, unknown>>, shape: Shape | null) => {
    const body = toChange(base, toBody(form.values, shape));
    const errors = findErrors(body);
    // The server requires a shape; the sentence says how to draw one.
    return setErrors(shape === null ? { ...errors, coordinates: t('noShape') } : errors) ? body : null;
  };
  return { form, check, showFailure: (error: unknown) => setErrors(toFieldErrors(error)) };
}
