import { Button, Checkbox, NativeSelect, PasswordInput, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../fleet/queries.ts';
import { toFieldErrors } from '../forms/faults.ts';
import { useFormErrors } from '../forms/use-form-errors.ts';
import { useSendOnce } from '../forms/use-send-once.ts';
import { parsePosition } from '../map/map-place.ts';
import { useSession } from '../session/session-context.ts';
import { Failure } from '../ui/states.tsx';

const hours = ['1', '4', '24', '72', '168', '720'] as const;

interface LinkForm {
  readonly vehicle_id: string;
  readonly label: string;
  readonly expires_in_hours: string;
  readonly password: string;
  readonly max_views: string;
  /** Latitude and longitude as text. */
  readonly destination: string;
  readonly destinationName: string;
  readonly hasVideo: boolean;
}

type DestinationFields = Pick<LinkForm, 'destination' | 'destinationName'>;

/** Returns the destination; null without one, undefined for a text that is no position. */
function readDestination({ destination, destinationName }: DestinationFields) {
  if (destination.trim() === '') return null;
  const position = parsePosition(destination);
  if (position === undefined) return undefined;
  const name = destinationName.trim();
  return { latitude: position[0], longitude: position[1], name: name === '' ? null : name };
}

const toBody = ({ vehicle_id, label, expires_in_hours, password, max_views, hasVideo, ...place }: LinkForm) => ({
  vehicle_id: Number(vehicle_id),
  expires_in_hours: Number(expires_in_hours),
  permissions: hasVideo ? ['location' as const, 'live_video' as const] : ['location' as const],
  history_minutes: 30,
  ...(label.trim() === '' ? {} : { label: label.trim() }),
  ...(password === '' ? {} : { password }),
  ...(max_views.trim() === '' ? {} : { max_views: Number(max_views) }),
  destination: readDestination(place) ?? null,
});

interface NewLinkProps {
  /** Absent: the form has a field for it. */
  readonly vehicleId?: number;
  readonly onCreated?: () => void;
}

/** Creates a link that shows one vehicle to guests. */
export function NewLink({ vehicleId, onCreated }: NewLinkProps) {
  const { t } = useTranslation('sharing');
  const { api } = useSession();
  const queries = useQueryClient();
  const findErrors = useFormErrors('createShareLink');
  const { data: vehicles = [] } = useVehicles();
  const initialValues: LinkForm = {
    vehicle_id: String(vehicleId ?? ''),
    label: '',
    expires_in_hours: '24',
    password: '',
    max_views: '',
    destination: '',
    destinationName: '',
    hasVideo: false,
  };
  const validate = (values: LinkForm): Record<string, string> => ({
    ...findErrors(toBody(values)),
    ...(readDestination(values) === undefined ? { destination: t('destinationFault') } : {}),
  });
  const form = useForm<LinkForm>({ initialValues, validate });
  const send = useSendOnce();
  const create = useMutation({
    mutationFn: (values: LinkForm) => {
      const body = toBody(values);
      return send(body, (header) => api.POST('/api/share-links', { body, params: { header } }));
    },
    onSuccess: async () => {
      form.reset();
      onCreated?.();
      await queries.invalidateQueries({ queryKey: ['listShareLinks'] });
    },
    onError: (error) => form.setErrors(toFieldErrors(error)),
  });
  const isFieldFault = create.isError && Object.keys(toFieldErrors(create.error)).length > 0;
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))} noValidate>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
          {vehicleId === undefined ? (
            <NativeSelect
              data-autofocus
              label={t('vehicle')}
              data={[
                { value: '', label: '–' },
                ...vehicles.flatMap(({ id, access, vehicle_no: number }) =>
                  access === 'owner' ? [{ value: String(id), label: number }] : [],
                ),
              ]}
              {...form.getInputProps('vehicle_id')}
            />
          ) : null}
          <TextInput label={t('label')} maxLength={100} {...form.getInputProps('label')} />
          <NativeSelect
            label={t('validFor')}
            data={hours.map((value) => ({ value, label: t('hours', { count: Number(value) }) }))}
            {...form.getInputProps('expires_in_hours')}
          />
          <PasswordInput
            label={t('password')}
            description={t('passwordHint')}
            autoComplete="new-password"
            visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
            {...form.getInputProps('password')}
          />
          <TextInput
            label={t('maxViews')}
            description={t('maxViewsHint')}
            inputMode="numeric"
            {...form.getInputProps('max_views')}
          />
          <TextInput
            label={t('destination')}
            description={t('destinationHint')}
            placeholder="9.93, 76.26"
            {...form.getInputProps('destination')}
          />
          <TextInput
            label={t('destinationName')}
            description={t('destinationNameHint')}
            maxLength={200}
            {...form.getInputProps('destinationName')}
          />
        </SimpleGrid>
        <Checkbox label={t('withVideo')} {...form.getInputProps('hasVideo', { type: 'checkbox' })} />
        {create.isError && !isFieldFault ? <Failure error={create.error} /> : null}
        <Button type="submit" loading={create.isPending} style={{ justifySelf: 'start' }}>
          {t('createLink')}
        </Button>
      </Stack>
    </form>
  );
}
