import { Modal, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../forms/faults.ts';
import { FormButtons } from '../forms/form-buttons.tsx';
import { useSendOnce } from '../forms/use-send-once.ts';
import { useSession } from '../session/session-context.ts';
import { Failure } from '../ui/states.tsx';

interface AddVehicleProps {
  /** Number of a terminal that connected already; empty for none. */
  readonly imei: string;
  readonly onClose: () => void;
}

interface NewVehicle {
  readonly vehicle_no: string;
  readonly name: string;
  readonly imei: string;
}

/** Creates a vehicle. Faults of the server appear at their fields. */
export function AddVehicle({ imei, onClose }: AddVehicleProps) {
  const { t } = useTranslation('terminals');
  const { api } = useSession();
  const queries = useQueryClient();
  const send = useSendOnce();
  const form = useForm<NewVehicle>({ initialValues: { vehicle_no: '', name: '', imei } });
  const create = useMutation({
    mutationFn: ({ vehicle_no, name, imei }: NewVehicle) => {
      const body = { vehicle_no, ...(name === '' ? {} : { name }), ...(imei === '' ? {} : { imei }) };
      return send(body, (header) => api.POST('/api/vehicles', { body, params: { header } }));
    },
    onSuccess: async () => {
      void queries.invalidateQueries({ queryKey: ['listUnassignedDevices'] });
      await queries.invalidateQueries({ queryKey: ['listVehicles'] });
      onClose();
    },
    onError: (error) => form.setErrors(toFieldErrors(error)),
  });
  const isFieldFault = create.isError && Object.keys(toFieldErrors(create.error)).length > 0;
  return (
    <Modal opened onClose={onClose} title={t('add')} closeButtonProps={{ 'aria-label': t('common:action.close') }}>
      <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
        <Stack>
          {create.isError && !isFieldFault ? <Failure error={create.error} /> : null}
          <TextInput data-autofocus label={t('number')} required maxLength={20} {...form.getInputProps('vehicle_no')} />
          <TextInput label={t('name')} maxLength={100} {...form.getInputProps('name')} />
          <TextInput
            label={t('terminal')}
            description={t('terminalHint')}
            inputMode="numeric"
            {...form.getInputProps('imei')}
          />
          <FormButtons isSaving={create.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
